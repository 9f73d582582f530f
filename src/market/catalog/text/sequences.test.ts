import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createSequences,
  dropSequence,
  hasSequence,
  isSequence,
  putSequence,
  sequenceBytes,
  slabAt,
} from './sequences.ts';

const change = fc.record({ id: fc.integer({ min: 1, max: 40 }), bytes: fc.uint8Array({ maxLength: 30 }) });

test('holds for each listing what was put last, through any changes and whatever is moved', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400 }), (changes) => {
      const store = createSequences(64);
      const model = new Map<number, Uint8Array>();
      for (const { id, bytes } of changes) {
        if (bytes.length === 0) {
          dropSequence(store, id);
          model.delete(id);
        } else {
          putSequence(store, id, bytes, bytes.length);
          model.set(id, bytes);
        }
      }
      for (let id = 0; id <= 41; id += 1) {
        const expected = model.get(id);
        expect(hasSequence(store, id)).toBe(expected !== undefined);
        if (expected === undefined) continue;
        const place = store.placeOf[id] ?? 0;
        expect(slabAt(store, id).subarray(place, place + expected.length)).toEqual(expected);
        expect(isSequence(store, id, expected, expected.length)).toBe(true);
        expect(
          isSequence(
            store,
            id,
            expected.map((byte) => byte ^ 1),
            expected.length,
          ),
        ).toBe(false);
        expect(isSequence(store, id, expected, expected.length - 1)).toBe(false);
      }
    }),
  );
});

test('a run longer than a slab gets one of its own', () => {
  const store = createSequences(64);
  putSequence(store, 1, new Uint8Array(1_000).fill(9), 1_000);
  putSequence(store, 5_000, Uint8Array.of(1, 2), 2);
  expect(isSequence(store, 1, new Uint8Array(1_000).fill(9), 1_000)).toBe(true);
  expect(isSequence(store, 5_000, Uint8Array.of(1, 2), 2)).toBe(true);
});

test('memory follows what is held, however often it was replaced', () => {
  const store = createSequences(4_096);
  const bytes = new Uint8Array(100);
  for (let round = 0; round < 200; round += 1) {
    for (let id = 1; id <= 100; id += 1) putSequence(store, id, bytes.fill(round), 100);
  }
  expect(sequenceBytes(store)).toBeLessThan(1_024 * 10 + 100 * 100 * 3);
  const columns = store.slabOf.byteLength + store.placeOf.byteLength + store.lengthOf.byteLength;
  expect(sequenceBytes(store)).toBe(store.slabs.reduce((sum, slab) => sum + slab.byteLength, columns));
});
