import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStemTable, postingOfStem } from './stem-table.ts';
import { createCodeBuffer, writeCodes } from './tokenize.ts';
import {
  countListing,
  createWordTable,
  discountListing,
  internWord,
  type WordTable,
  wordBytes,
  wordId,
  wordsLike,
} from './word-table.ts';

const buffer = createCodeBuffer();

function add(table: WordTable, word: string): number {
  const codes = writeCodes(buffer, `..${word}..`);
  const id = internWord(table, codes, 2, 2 + word.length);
  countListing(table, id);
  return id;
}

const word = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', 'n', 's'), minLength: 1, maxLength: 5 }),
  fc.constantFrom('人', 'café', 'straße', 'running', 'runs', 'run', 'x'.repeat(64)),
);
const changes = fc.array(fc.record({ word, isAdded: fc.boolean() }), { maxLength: 300 });

test('knows exactly the words that a listing has, by numbers that stay, however many come and go', () => {
  fc.assert(
    fc.property(changes, (list) => {
      const table = createWordTable(createStemTable());
      const model = new Map<string, { id: number; listings: number }>();
      for (const { word: text, isAdded } of list) {
        const known = model.get(text);
        if (isAdded) {
          const id = add(table, text);
          expect(known?.id ?? id).toBe(id);
          model.set(text, { id, listings: (known?.listings ?? 0) + 1 });
        } else if (known !== undefined) {
          discountListing(table, known.id);
          if (known.listings === 1) model.delete(text);
          else model.set(text, { id: known.id, listings: known.listings - 1 });
        }
      }
      expect(table.slots.count).toBe(model.size);
      expect(new Set([...model.values()].map(({ id }) => id)).size).toBe(model.size);
      for (const { word: text } of list) {
        const known = model.get(text);
        expect(wordId(table, text)).toBe(known?.id ?? 0);
        const isListed = text.length >= 3 && wordsLike(table, text).some((id) => table.texts[id] === text);
        expect(isListed).toBe(text.length >= 3 && known !== undefined);
      }
    }),
  );
});

test('a stem is there as long as one of its words is', () => {
  const stems = createStemTable();
  const table = createWordTable(stems);
  const runs = add(table, 'runs');
  const running = add(table, 'running');
  expect(stems.ids.size).toBe(1);
  discountListing(table, runs);
  expect(postingOfStem(stems, 'run')).not.toBeNull();
  discountListing(table, running);
  expect(postingOfStem(stems, 'run')).toBeNull();
  expect(stems.bytes).toBe(0);
});

test('words that come and go do not fill the memory', () => {
  const table = createWordTable(createStemTable());
  const room = (): number => wordBytes(table);
  for (let index = 0; index < 500; index += 1) discountListing(table, add(table, `first${index}`));
  const before = room();
  for (let index = 0; index < 20_000; index += 1) discountListing(table, add(table, `word${index}`));
  expect(room()).toBeLessThanOrEqual(before);
  expect(table.texts.length).toBeLessThan(10);
});
