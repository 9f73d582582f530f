import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addTitle,
  createTitleTable,
  dropTitle,
  forEachTitled,
  type TitleTable,
  titleBytes,
  titleWords,
  wordsHash,
} from './title-table.ts';

function titled(table: TitleTable, hash: number): number[] {
  const found: number[] = [];
  forEachTitled(table, hash, (id) => found.push(id));
  return found.sort((a, b) => a - b);
}

function check(table: TitleTable, model: ReadonlyMap<number, number>, hashes: Iterable<number>): void {
  expect(table.count).toBe([...model.values()].filter((hash) => hash !== 0).length);
  for (const hash of hashes) {
    const expected = [...model].filter(([, own]) => own === hash && hash !== 0).map(([id]) => id);
    expect(titled(table, hash)).toEqual(expected.sort((a, b) => a - b));
  }
}

// Hashes that share a slot of tables of every size, and the ends of the range.
const HASHES = [0, 1, 2, 1_025, 2_049, 4_097, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32 - 1_024];

test('has the listings that a map has, whatever comes, goes and is replaced', () => {
  const change = fc.record({
    id: fc.integer({ min: 1, max: 60 }),
    hash: fc.constantFrom(...HASHES),
    isAdded: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const table = createTitleTable();
      const model = new Map<number, number>();
      for (const { id, hash, isAdded } of changes) {
        // Drop first, as the index does. Dropping what is not there changes nothing.
        dropTitle(table, id);
        model.delete(id);
        if (!isAdded) continue;
        addTitle(table, id, hash);
        model.set(id, hash);
      }
      check(table, model, HASHES);
    }),
    { numRuns: 300 },
  );
});

test('stays right while it grows to many listings and shrinks again', () => {
  const table = createTitleTable();
  const model = new Map<number, number>();
  const hashOf = (id: number): number => wordsHash(new Set([2 + (id % 700), 2 + (id % 11)]));
  for (let id = 1; id <= 9_000; id += 1) {
    addTitle(table, id, hashOf(id));
    model.set(id, hashOf(id));
    if (id % 5 !== 0) continue;
    dropTitle(table, id - 3);
    model.delete(id - 3);
  }
  const asked = [...new Set(model.values())].filter((_, at) => at % 40 === 0);
  expect(asked.length).toBeGreaterThan(10);
  check(table, model, asked);
  const bytes = titleBytes(table);
  for (const id of [...model.keys()]) dropTitle(table, id);
  check(table, new Map(), asked);
  for (const [id, hash] of model) addTitle(table, id, hash);
  check(table, model, asked);
  expect(titleBytes(table)).toBe(bytes);
});

test('the hash is that of the words in any order, and hardly ever that of others', () => {
  expect(wordsHash(new Set())).toBe(0);
  const word = fc.integer({ min: 2, max: 2 ** 32 - 1 });
  fc.assert(
    fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 12 }), (words) => {
      const hash = wordsHash(new Set(words));
      expect(hash).toBeGreaterThan(0);
      expect(hash).toBeLessThan(2 ** 32);
      expect(wordsHash(new Set(words.toReversed()))).toBe(hash);
    }),
  );
  const hashes = new Set<number>();
  for (let first = 2; first < 202; first += 1) {
    for (let second = first; second < 202; second += 1) hashes.add(wordsHash(new Set([first, second])));
  }
  expect(hashes.size).toBeGreaterThan((200 * 201) / 2 - 5);
});

test('the words of a title end at the first mark, each once', () => {
  expect([...titleWords(Uint32Array.from([5, 9, 5, 1, 7, 0, 8]), 7)]).toEqual([5, 9]);
  expect([...titleWords(Uint32Array.from([5, 9, 5, 8]), 3)]).toEqual([5, 9]);
  expect([...titleWords(Uint32Array.from([0, 9]), 2)]).toEqual([]);
});
