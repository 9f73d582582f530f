import { expect, it } from 'vitest';
import { createKeptResults } from './kept-results.ts';

const bytes = (length: number): Buffer => Buffer.alloc(length);

it('the one that was asked for longest ago goes first, and never more is held than may be', () => {
  const kept = createKeptResults(10);
  for (const key of ['a', 'b', 'c']) kept.put(key, bytes(3));
  expect(kept.get('a')).toHaveLength(3);
  kept.put('d', bytes(4));
  expect(['a', 'b', 'c', 'd'].filter((key) => kept.get(key) !== undefined)).toEqual(['a', 'c', 'd']);
  kept.put('d', bytes(1));
  kept.put('e', bytes(3));
  expect(['a', 'c', 'd', 'e'].filter((key) => kept.get(key) !== undefined)).toEqual(['a', 'c', 'd', 'e']);
});

it('what is larger than everything that may be held is not kept, and throws nothing else out', () => {
  const kept = createKeptResults(10);
  kept.put('a', bytes(3));
  kept.put('b', bytes(11));
  expect(kept.get('a')).toHaveLength(3);
  expect(kept.get('b')).toBeUndefined();
});
