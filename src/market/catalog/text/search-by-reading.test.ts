import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readNaively, searchNaively } from '../../../../test/catalog/naive-text.ts';
import { MISSPELLED, need, QUERIES, textChange } from '../../../../test/catalog/random-texts.ts';
import { compileNow, type Match, rankedMatches, resolutionOf } from '../../../../test/catalog/text-search.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';

interface Market {
  readonly index: TextIndex;
  readonly live: ReadonlyMap<number, ListingText>;
}

const market: fc.Arbitrary<Market> = fc.array(textChange, { maxLength: 40 }).map((changes) => {
  const index = createTextIndex({ giveWay: async () => {} });
  const live = new Map<number, ListingText>();
  for (const { id, text } of changes) {
    if (text === null) index.remove(id);
    else index.put(id, text);
    if (text === null) live.delete(id);
    else live.set(id, text);
  }
  return { index, live };
});

function expectSameAsReading({ index, live }: Market, queries: readonly string[], match: Match): void {
  const read = new Map([...live].map(([id, text]) => [id, readNaively(text)]));
  for (const q of queries) {
    const resolution = resolutionOf(index, q, match);
    const found = rankedMatches(compileNow(index, resolution), live.keys());
    expect(found, q).toEqual(searchNaively(read, resolution));
  }
}

describe('a search finds and ranks what reading every listing does', () => {
  test('for any word', () => {
    fc.assert(
      fc.property(market, (one) => expectSameAsReading(one, [...QUERIES, ...MISSPELLED], 'any')),
      { numRuns: 40 },
    );
  });

  test('for all words', () => {
    fc.assert(
      fc.property(market, (one) => expectSameAsReading(one, [...QUERIES, ...MISSPELLED], 'all')),
      { numRuns: 40 },
    );
  });

  test('for any need', () => {
    fc.assert(
      fc.property(market, fc.array(need, { minLength: 1, maxLength: 12 }), (one, needs) => {
        expectSameAsReading(one, needs, 'any');
        expectSameAsReading(one, needs, 'all');
      }),
      { numRuns: 80 },
    );
  });
});
