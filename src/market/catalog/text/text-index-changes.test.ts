import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readNaively, searchNaively } from '../../../../test/catalog/naive-text.ts';
import { listing, MISSPELLED, QUERIES, type TextChange, textChange } from '../../../../test/catalog/random-texts.ts';
import { answerOf, compileNow, rankedMatches, resolutionOf } from '../../../../test/catalog/text-search.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';

const MATCHES = ['any', 'all'] as const;

function apply(index: TextIndex, live: Map<number, ListingText>, { id, text }: TextChange): void {
  if (text === null) {
    index.remove(id);
    live.delete(id);
  } else {
    index.put(id, text);
    live.set(id, text);
  }
}

function freshOf(live: ReadonlyMap<number, ListingText>): TextIndex {
  const index = createTextIndex({ giveWay: async () => {} });
  for (const [id, text] of [...live].sort(([a], [b]) => a - b)) index.put(id, text);
  return index;
}

function compileAll(index: TextIndex): void {
  for (const q of QUERIES) for (const match of MATCHES) index.compile(resolutionOf(index, q, match));
}

function expectSame(index: TextIndex, live: ReadonlyMap<number, ListingText>): void {
  const fresh = freshOf(live);
  expect(index.listings()).toBe(live.size);
  expect(index.terms()).toBe(fresh.terms());
  for (const match of MATCHES) {
    for (const q of [...QUERIES, ...MISSPELLED]) {
      const resolution = resolutionOf(index, q, match);
      expect(resolution, q).toEqual(resolutionOf(fresh, q, match));
      expect(answerOf(index, resolution), q).toEqual(answerOf(fresh, resolution));
    }
  }
}

describe('after any changes', () => {
  test('the index answers as one that was built from the listings there are', () => {
    fc.assert(
      fc.property(
        fc.array(textChange, { maxLength: 60 }),
        fc.array(fc.nat(50), { maxLength: 10 }),
        (changes, asked) => {
          const index = createTextIndex({ giveWay: async () => {} });
          const live = new Map<number, ListingText>();
          for (const [at, one] of changes.entries()) {
            apply(index, live, one);
            // Build sets here that must follow later changes.
            if (asked.includes(at)) compileAll(index);
          }
          expectSame(index, live);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('the same text again leaves everything as it was', () => {
    fc.assert(
      fc.property(fc.array(listing, { minLength: 1, maxLength: 20 }), (texts) => {
        const live = new Map(texts.map((text, at) => [at + 1, text]));
        const index = freshOf(live);
        compileAll(index);
        for (const [id, text] of live) index.put(id, structuredClone(text));
        expectSame(index, live);
      }),
      { numRuns: 20 },
    );
  });
});

describe('sets that take long', () => {
  const rest = 'lorem ipsum dolor universal';

  /** Makes enough listings that no set of these words is built within a call. */
  function makeManyListings(giveWay: () => Promise<void>): { index: TextIndex; live: Map<number, ListingText> } {
    const index = createTextIndex({ giveWay });
    const live = new Map<number, ListingText>();
    const empty = { tags: [], keywords: [], merchant: 'x', preview: '' };
    for (let id = 1; id <= 6_000; id += 1) {
      const title = `${['run runs', 'runs run', 'university', 'universe'][id % 4]} ${rest}`;
      apply(index, live, { id, text: { ...empty, title, description: `word${id % 7}` } });
    }
    return { index, live };
  }

  function expectFound(index: TextIndex, live: ReadonlyMap<number, ListingText>, q: string): void {
    const resolution = resolutionOf(index, q);
    const read = new Map([...live].map(([id, text]) => [id, readNaively(text)]));
    expect(rankedMatches(compileNow(index, resolution), live.keys()), q).toEqual(searchNaively(read, resolution));
  }

  const SLOW = ['"run runs"', 'universi', '"lorem ipsum dolor" universi'];

  test('are made in slices and then answer', async () => {
    let ways = 0;
    const { index, live } = makeManyListings(async () => {
      ways += 1;
    });
    for (const q of SLOW) {
      const resolution = resolutionOf(index, q);
      expect(index.compile(resolution), q).toBeNull();
      await Promise.all([index.prepare(resolution), index.prepare(resolution)]);
      expectFound(index, live, q);
    }
    expect(ways).toBeGreaterThan(5);
  });

  test('are right although listings change between the slices', async () => {
    const random = fc.sample(textChange, { numRuns: 400, seed: 7 });
    let live = new Map<number, ListingText>();
    let index: TextIndex | null = null;
    const made = makeManyListings(async () => {
      for (let count = 0; count < 20; count += 1) {
        const one = random.pop();
        // Spread the changes over all slices: ids already processed, ids still to come, and new ids.
        if (one !== undefined && index !== null) apply(index, live, { id: one.id * 220 - 30, text: one.text });
      }
    });
    ({ index, live } = made);
    for (const q of SLOW) {
      const resolution = resolutionOf(index, q);
      await index.prepare(resolution);
      expect(index.compile(resolution), q).not.toBeNull();
      expectFound(index, live, q);
    }
    const fresh = freshOf(live);
    for (const q of SLOW) {
      const resolution = resolutionOf(fresh, q);
      await fresh.prepare(resolution);
      expect(answerOf(index, resolution), q).toEqual(answerOf(fresh, resolution));
    }
    expect(random.length).toBeLessThan(300);
  });
});

test('no more than 4,096 sets are kept, and those that left are made again', () => {
  const index = createTextIndex({ giveWay: async () => {} });
  const empty = { title: '', tags: [], keywords: [], merchant: '', preview: '' };
  for (let id = 1; id <= 5_000; id += 1) index.put(id, { ...empty, description: `pre${id} fix${id} two` });
  const ask = (id: number): unknown => answerOf(index, resolutionOf(index, `"pre${id} fix${id}"`));
  const first = ask(1);
  const bytes = index.bytes();
  for (let id = 1; id <= 4_200; id += 1) ask(id);
  const full = index.bytes();
  for (let id = 1; id <= 5_000; id += 1) ask(id);
  expect(full).toBeGreaterThan(bytes);
  expect(index.bytes()).toBe(full);
  expect(ask(1)).toEqual(first);
});
