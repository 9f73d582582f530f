import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createStemTable } from './stem-table.ts';
import { nearWords, spellingDistance } from './suggest-query.ts';
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

describe('nearWords', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 });

  test('the distance is right up to the bound, and beyond it says so', () => {
    fc.assert(
      fc.property(letters, letters, fc.constantFrom(1, 2), (from, to, most) => {
        expect(spellingDistance(from, to, most)).toBe(Math.min(wholeDistance(from, to), most + 1));
      }),
      { numRuns: 3_000 },
    );
  });

  test('no near word is sorted out', () => {
    fc.assert(
      fc.property(fc.uniqueArray(letters, { maxLength: 30 }), letters, (words, asked) => {
        const table = tableOf(Object.fromEntries(words.map((word) => [word, 1])));
        const most = asked.length <= 4 ? 1 : 2;
        const near = words.filter((word) => word !== asked && wholeDistance(asked, word) <= most);
        expect(nearWords(table, asked, 100).sort()).toEqual(asked.length < 2 ? [] : near.sort());
      }),
      { numRuns: 500 },
    );
  });

  test('nearest first, then the most used, then by the alphabet', () => {
    const table = tableOf({ design: 1, designs: 5, desing: 2, resign: 3, designer: 9, other: 50, desigm: 1 });
    expect(nearWords(table, 'desigh', 10)).toEqual(['desigm', 'design', 'designs', 'resign', 'desing']);
    expect(nearWords(table, 'desigh', 2)).toEqual(['desigm', 'design']);
  });
});
