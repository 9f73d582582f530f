import { inflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createKeptResults, type KeptResults } from './kept-results.ts';

const bytes = (length: number): Buffer => Buffer.alloc(length, 'x');
const keysIn = (kept: KeptResults, keys: readonly string[]) => keys.filter((key) => kept.get(key, false) !== undefined);

it('the one that was asked for longest ago goes first, and never more is held than may be', () => {
  const kept = createKeptResults(10);
  for (const key of ['a', 'b', 'c']) kept.put(key, bytes(3));
  expect(kept.get('a', false)?.plain).toHaveLength(3);
  kept.put('d', bytes(4));
  expect(keysIn(kept, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
  kept.put('d', bytes(1));
  kept.put('e', bytes(3));
  expect(keysIn(kept, ['a', 'c', 'd', 'e'])).toEqual(['a', 'c', 'd', 'e']);
});

it('what is larger than everything that may be held is not kept, and throws nothing else out', () => {
  const kept = createKeptResults(10);
  kept.put('a', bytes(3));
  kept.put('b', bytes(11));
  expect(keysIn(kept, ['a', 'b'])).toEqual(['a']);
});

it('is packed once somebody who takes that asks again, and counts with that', () => {
  const kept = createKeptResults(2_050);
  kept.put('a', bytes(1_000));
  kept.put('b', bytes(1_000));
  expect(kept.get('a', false)?.packed).toBeNull();
  const packed = kept.get('b', true)?.packed;
  expect(inflateRawSync(packed?.bytes ?? bytes(0), { finishFlush: 2 }).equals(bytes(1_000))).toBe(true);
  expect(kept.get('b', false)?.packed).toBe(packed);
  kept.put('c', bytes(30));
  kept.put('d', bytes(30));
  expect(keysIn(kept, ['a', 'b', 'c', 'd'])).toEqual(['b', 'c', 'd']);
});
