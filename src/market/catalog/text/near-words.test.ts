import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { correctWord, isTooShort, nearestWords, spellingDistance } from './near-words.ts';
import { createStemTable } from './stem-table.ts';
import { isStopWord } from './stop-words.ts';
import type { TextState } from './text-state.ts';
import { createCodeBuffer, writeCodes } from './tokenize.ts';
import { countListing, createWordTable, internWord, type WordTable } from './word-table.ts';

function tableOf(words: Readonly<Record<string, number>>): WordTable {
  const table = createWordTable(createStemTable());
  const buffer = createCodeBuffer();
  for (const [word, listings] of Object.entries(words)) {
    const id = internWord(table, writeCodes(buffer, word), 0, word.length);
    for (let count = 0; count < listings; count += 1) countListing(table, id);
  }
  return table;
}

/** Corrects a word in a market with these words. Only the words of an index are read. */
function correct(words: Readonly<Record<string, number>>, word: string): readonly string[] {
  const state: Pick<TextState, 'words'> = { words: tableOf(words) };
  return correctWord(state as TextState, word);
}

/** Computes the textbook distance with the whole table. */
function wholeDistance(from: string, to: string): number {
  const rows: number[][] = [];
  const cell = (line: number, column: number): number => rows[line]?.[column] ?? 0;
  for (let line = 0; line <= from.length; line += 1) {
    rows.push([]);
    for (let column = 0; column <= to.length; column += 1) {
      let best = line === 0 || column === 0 ? line + column : Number.POSITIVE_INFINITY;
      if (line > 0 && column > 0) {
        best = cell(line - 1, column - 1) + (from[line - 1] === to[column - 1] ? 0 : 1);
        best = Math.min(best, cell(line - 1, column) + 1, cell(line, column - 1) + 1);
        const isSwap = line > 1 && column > 1 && from[line - 1] === to[column - 2] && from[line - 2] === to[column - 1];
        if (isSwap) best = Math.min(best, cell(line - 2, column - 2) + 1);
      }
      rows[line]?.push(best);
    }
  }
  return cell(from.length, to.length);
}

type Words = readonly (readonly [word: string, listings: number])[];

const MAX_CANDIDATES = 5;

/** Counts the letters that only one of both words has. */
function lettersApart(a: string, b: string): number {
  return [...new Set(a + b)].filter((letter) => a.includes(letter) !== b.includes(letter)).length;
}

function nearestNaively(words: Words, asked: string): string[] {
  const near = words
    .map(([word, listings]) => ({
      word,
      listings,
      distance: wholeDistance(asked, word),
      letters: lettersApart(asked, word),
    }))
    .filter(({ word, distance }) => word !== asked && distance <= (asked.length < 8 ? 1 : 2));
  const least = Math.min(...near.map(({ distance }) => distance));
  return near
    .filter(({ distance }) => distance === least)
    .sort((a, b) => a.letters - b.letters || b.listings - a.listings || (a.word < b.word ? -1 : 1))
    .map(({ word }) => word)
    .slice(0, MAX_CANDIDATES);
}

function splitNaively(words: Words, asked: string): string[] {
  const listings = new Map(words);
  let best: [string | null, number] = [null, 0];
  for (let at = 3; at <= asked.length - 3; at += 1) {
    const parts = [asked.slice(0, at), asked.slice(at)];
    const least = Math.min(...parts.map((part) => listings.get(part) ?? 0));
    if (least > best[1] && !parts.some(isStopWord)) best = [parts.join(' '), least];
  }
  return best[0] === null ? [] : [best[0]];
}

describe('the nearest words', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 10 });
  const words = fc.uniqueArray(fc.tuple(letters, fc.integer({ min: 1, max: 3 })), {
    maxLength: 40,
    selector: ([word]) => word,
  });

  test('have a distance that is right up to the bound, and beyond it says so', () => {
    fc.assert(
      fc.property(letters, letters, fc.constantFrom(1, 2), (from, to, most) => {
        expect(spellingDistance(from, to, most)).toBe(Math.min(wholeDistance(from, to), most + 1));
      }),
      { numRuns: 3_000 },
    );
  });

  test('are those that a search of all words finds', () => {
    fc.assert(
      fc.property(words, letters, (given, asked) => {
        expect(nearestWords(tableOf(Object.fromEntries(given)), asked)).toEqual(nearestNaively(given, asked));
      }),
      { numRuns: 2_000 },
    );
  });

  test('or else two words that it joins', () => {
    fc.assert(
      fc.property(words, letters, (given, asked) => {
        const nearest = nearestNaively(given, asked);
        const expected = asked.length < 3 ? [] : nearest.length > 0 ? nearest : splitNaively(given, asked);
        expect(correct(Object.fromEntries(given), asked)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('those with the same letters come first, then the most used, then by the alphabet, and at most five', () => {
    const table = { design: 1, designs: 5, desing: 2, resign: 3, designer: 9, other: 50, desigm: 1 };
    expect(correct(table, 'desigh')).toEqual(['desigm', 'design']);
    expect(correct({ ...table, desigx: 2 }, 'desigh')).toEqual(['desigx', 'desigm', 'design']);
    expect(correct({ fantom: 9, fathom: 1 }, 'fahtom')).toEqual(['fathom', 'fantom']);
    expect(correct({ abcd: 1, abxc: 9, abcc: 2 }, 'acbc')).toEqual(['abcc']);
    const many = { lang: 1, land: 1, lank: 9, lane: 2, lanb: 1, lana: 3, lanc: 1 };
    expect(correct(many, 'lanx')).toEqual(['lana', 'lank', 'lane', 'lanb', 'lanc']);
  });

  test('a number after a word is split off, and never changed', () => {
    expect(correct({ python: 5, '3': 1 }, 'python3')).toEqual(['python 3']);
    expect(correct({ python: 5, '3': 1, python2: 9 }, 'python4')).toEqual(['python']);
    expect(correct({ pythn: 5, '3': 1 }, 'python3')).toEqual([]);
    expect(correct({ x: 5, '3': 1, a1b: 1 }, 'x3')).toEqual([]);
    expect(correct({ a1b2: 5, a: 1 }, 'a1b3')).toEqual([]);
  });

  test.each([
    [
      'one letter more, less or other, or two swapped',
      { explain: 1 },
      ['explan', 'explainn', 'exqlain', 'epxlain'],
      'explain',
    ],
    ['two edits from eight letters on', { documents: 1 }, ['docmuenst', 'dcuments', 'dokumentz'], 'documents'],
    [
      'the whole word, at both ends too',
      { market: 1 },
      ['arket', 'xmarket', 'marke', 'markets', 'amrket', 'markte'],
      'market',
    ],
    ['letters of other scripts', { привет: 1 }, ['прывет', 'првиет'], 'привет'],
    ['joined words', { image: 4, editor: 2 }, ['imageeditor'], 'image editor'],
  ])('%s', (_, table, asked, expected) => {
    for (const word of asked) expect(correct(table, word), word).toEqual([expected]);
  });

  test.each([
    ['short words', { cat: 9, car: 9, at: 9 }, ['ca', 'ct', 'x', '']],
    ['words with digits', { gpt4: 9, x402: 9, python3: 9 }, ['gpt5', 'x403', 'python2']],
    ['names with signs', { 'c++': 9, '.net': 9 }, ['c#', 'g++', '.nex']],
    ['two edits in fewer than eight letters', { explain: 1 }, ['eplan', 'xepalin']],
    ['three edits', { documents: 1 }, ['dcmntz', 'docu']],
    [
      'stop words and short parts',
      { the: 9, market: 9, ab: 9, with: 9, front: 9 },
      ['themarket', 'abfront', 'marketwith'],
    ],
    ['pairs of characters', { 人工: 9, 𠀋𠀌: 9 }, ['人才', '𠀋𠀍']],
    ['an empty market', {}, ['market', 'documents']],
  ])('%s are not corrected', (_, table, asked) => {
    for (const word of asked) expect(correct(table, word), word).toEqual([]);
  });

  test('words of the longest kind are compared', () => {
    const long = 'ab'.repeat(32);
    expect(correct({ [long]: 1 }, `${long.slice(1)}`)).toEqual([long]);
    expect(correct({ [long.slice(0, 62)]: 1 }, long)).toEqual([long.slice(0, 62)]);
    expect(correct({ [long]: 1 }, 'ba'.repeat(32))).toEqual([long]);
  });

  test('three letters are corrected only where it makes a title', () => {
    expect(['cas', 'cats'].map(isTooShort)).toEqual([true, false]);
    expect(correct({ cat: 1, car: 2 }, 'cas')).toEqual(['car', 'cat']);
  });
});
