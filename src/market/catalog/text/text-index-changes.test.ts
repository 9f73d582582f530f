import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { forEachMember, type Posting } from '../sets/posting.ts';
import { type ParsedQuery, parseQuery } from './parse-query.ts';
import { stemOf } from './stem.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';
import { tokenize } from './tokenize.ts';

/** Words with shared stems, shared beginnings, similar spellings and other scripts. */
const WORDS = [
  ...['run', 'runs', 'running', 'runner', 'art', 'arts', 'artist', 'article', 'artful', 'market', 'marketing'],
  ...[
    'marketplace',
    'universal',
    'university',
    'universe',
    'cafe',
    'Café',
    'logo',
    'lego',
    'x',
    '人',
    '工',
    '人工知能',
  ],
];
const QUERIES = [
  ...[
    'run ',
    'run',
    'runn',
    'running',
    'art',
    'artis',
    'arti ',
    'mar',
    'market',
    'marketi',
    'universi',
    'universa',
    'uni',
  ],
  ...[
    '"run runs"',
    '"art artist"',
    '"人 工"',
    '人工',
    '"cafe"',
    '"runs"',
    'art -artist',
    'run -"run runs" art',
    '-art ',
    'zzz',
  ],
  ...['cafe "logo art" mar', '"x x x" x', 'art run market ', '"artist unknown"', '"logo', '知能 '],
];
const MISSPELLED = [
  'runing',
  'atr',
  'markt logo',
  'univercity',
  '"lgoo art"',
  'marketplaec run',
  'caffe -art ',
  'lxgo',
];

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(' '));
const listing: fc.Arbitrary<ListingText> = fc.record({
  title: text,
  tags: fc.array(fc.constantFrom('art', 'run-runs', 'logo-art', 'x'), { maxLength: 3 }),
  merchant: fc.constantFrom('artist', 'x-x', 'mar-art'),
  description: text,
  preview: text,
});
const change = fc.record({ id: fc.integer({ min: 1, max: 30 }), text: fc.option(listing, { freq: 3 }) });
type Change = { id: number; text: ListingText | null };

function members(posting: Posting): [number, number][] {
  const found: [number, number][] = [];
  forEachMember(posting, (id, level) => found.push([id, level]));
  return found;
}

/** Returns everything an index says about a query, in comparable form. */
function answer(index: TextIndex, q: string): unknown {
  const search = index.compile(parseQuery(q));
  if (search === null) return 'missing';
  return {
    must: search.must.map(members),
    mustNot: search.mustNot.map(members),
    scored: search.scored.map(({ posting, weight }) => ({ weight, members: members(posting) })),
    matchesNothing: search.matchesNothing,
  };
}

function matching(index: TextIndex, query: ParsedQuery, live: Iterable<number>): number[] {
  const search = index.compile(query);
  if (search === null || search.matchesNothing) return [];
  const must = search.must.map((posting) => new Set(members(posting).map(([id]) => id)));
  const mustNot = search.mustNot.map((posting) => new Set(members(posting).map(([id]) => id)));
  const isMatch = (id: number): boolean => must.every((set) => set.has(id)) && !mustNot.some((set) => set.has(id));
  return [...live].filter(isMatch).sort((a, b) => a - b);
}

function apply(index: TextIndex, live: Map<number, ListingText>, { id, text }: Change): void {
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

function expectSame(index: TextIndex, live: ReadonlyMap<number, ListingText>): void {
  const fresh = freshOf(live);
  expect(index.listings()).toBe(live.size);
  expect(index.terms()).toBe(fresh.terms());
  for (const q of QUERIES) expect(answer(index, q), q).toEqual(answer(fresh, q));
  for (const q of MISSPELLED) {
    const suggested = [index, fresh].map((one) =>
      one.suggest(parseQuery(q), (query) => matching(one, query, live.keys()).length > 0),
    );
    expect(suggested[0], q).toBe(suggested[1]);
    const [found = null] = suggested;
    if (found !== null) expect(matching(index, parseQuery(found), live.keys()), found).not.toEqual([]);
  }
}

/** Returns whether a listing matches, by reading its text. */
function matchesText(text: ListingText, query: ParsedQuery): boolean {
  const fields = [text.title, ...text.tags, text.merchant, text.description, text.preview].map(tokenize);
  const words = fields.flat();
  const hasStem = (word: string): boolean => words.some((one) => stemOf(one) === stemOf(word));
  return query.terms.every(({ kind, words: wanted, excluded }) => {
    const [first = ''] = wanted;
    let isThere = kind !== 'phrase' && hasStem(first);
    if (kind === 'beginning') isThere ||= words.some((one) => one.startsWith(first));
    if (kind === 'phrase') isThere = fields.some((field) => ` ${field.join(' ')} `.includes(` ${wanted.join(' ')} `));
    return isThere !== excluded;
  });
}

describe('after any changes', () => {
  test('the index answers as one that was built from the listings there are', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), fc.array(fc.nat(50), { maxLength: 10 }), (changes, asked) => {
        const index = createTextIndex({ giveWay: async () => {} });
        const live = new Map<number, ListingText>();
        for (const [at, one] of changes.entries()) {
          apply(index, live, one);
          // Build sets here that must follow later changes.
          if (asked.includes(at)) for (const q of QUERIES) index.compile(parseQuery(q));
        }
        expectSame(index, live);
      }),
      { numRuns: 60 },
    );
  });

  test('a query finds what reading every listing finds', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const index = createTextIndex({ giveWay: async () => {} });
        const live = new Map<number, ListingText>();
        for (const one of changes) apply(index, live, one);
        for (const q of QUERIES) {
          const query = parseQuery(q);
          const expected = [...live].filter(([, text]) => matchesText(text, query)).map(([id]) => id);
          expect(matching(index, query, live.keys()), q).toEqual(expected.sort((a, b) => a - b));
        }
      }),
      { numRuns: 60 },
    );
  });

  test('the same text again leaves everything as it was', () => {
    fc.assert(
      fc.property(fc.array(listing, { minLength: 1, maxLength: 20 }), (texts) => {
        const live = new Map(texts.map((text, at) => [at + 1, text]));
        const index = freshOf(live);
        for (const q of QUERIES) index.compile(parseQuery(q));
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
    for (let id = 1; id <= 6_000; id += 1) {
      const title = `${['run runs', 'runs run', 'university', 'universe'][id % 4]} ${rest}`;
      apply(index, live, { id, text: { title, tags: [], merchant: 'x', description: `word${id % 7}`, preview: '' } });
    }
    return { index, live };
  }

  const SLOW = ['"run runs"', 'universi', '"lorem ipsum dolor" universi'];

  test('are made in slices and then answer', async () => {
    let ways = 0;
    const { index, live } = makeManyListings(async () => {
      ways += 1;
    });
    for (const q of SLOW) {
      const query = parseQuery(q);
      expect(index.compile(query), q).toBeNull();
      await Promise.all([index.prepare(query), index.prepare(query)]);
      const expected = [...live].filter(([, text]) => matchesText(text, query)).map(([id]) => id);
      expect(matching(index, query, live.keys()), q).toEqual(expected);
    }
    expect(ways).toBeGreaterThan(5);
  });

  test('are right although listings change between the slices', async () => {
    const random = fc.sample(change, { numRuns: 400, seed: 7 });
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
      const query = parseQuery(q);
      await index.prepare(query);
      expect(index.compile(query), q).not.toBeNull();
      const expected = [...live].filter(([, text]) => matchesText(text, query)).map(([id]) => id);
      expect(matching(index, query, live.keys()), q).toEqual(expected.sort((a, b) => a - b));
    }
    const fresh = freshOf(live);
    for (const q of SLOW) {
      await fresh.prepare(parseQuery(q));
      expect(answer(index, q), q).toEqual(answer(fresh, q));
    }
    expect(random.length).toBeLessThan(300);
  });
});

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));

describe('any query', () => {
  const unit = fc.oneof(
    fc.constantFrom(
      '"',
      '-',
      ' ',
      '<b onclick="x">',
      '&lt;',
      '😀',
      '\u05e9\u05dc',
      '\u202e',
      '\ud800',
      '\udfff',
      'ﷺ',
      '\u0301',
    ),
    fc.constantFrom('run', 'Art', '人', 'x', 'universi', 'ma', '"run runs"', '%00', '\0', "'", '\\', '*', '(', ')'),
    fc.string({ unit: anyUnit, maxLength: 20 }),
  );
  const query = fc.array(unit, { maxLength: 50 }).map((parts) => parts.join('').slice(0, 100));

  test('is parsed, prepared, compiled and corrected without an error and without delay', async () => {
    const index = createTextIndex({ giveWay: async () => {} });
    for (const [at, text] of fc.sample(listing, { numRuns: 300, seed: 3 }).entries()) index.put(at + 1, text);
    const slowest = { ms: 0, q: '' };
    await fc.assert(
      fc.asyncProperty(query, async (q) => {
        const started = performance.now();
        const parsed = parseQuery(q);
        await index.prepare(parsed);
        expect(index.compile(parsed)).not.toBeNull();
        index.suggest(parsed, () => false);
        const ms = performance.now() - started;
        if (ms > slowest.ms) Object.assign(slowest, { ms, q });
      }),
      { numRuns: 500 },
    );
    expect(slowest.ms, slowest.q).toBeLessThan(500);
  });

  test('of nothing but one piece over and over is quick too', () => {
    for (const piece of ['"', '-', '-"', 'a"', 'ﷺ', '\u0301', '가', 'x', '人', 'a ', 'run ', '"run"']) {
      expect(
        processorMs(() => parseQuery(piece.repeat(100).slice(0, 100))),
        piece,
      ).toBeLessThan(500);
    }
  });
});

test('no more than 4,096 sets are kept, and those that left are made again', () => {
  const index = createTextIndex({ giveWay: async () => {} });
  const empty = { title: '', tags: [], merchant: '', preview: '' };
  for (let id = 1; id <= 5_000; id += 1) index.put(id, { ...empty, description: `pre${id} fix${id} two` });
  const ask = (id: number): unknown => answer(index, `"pre${id} fix${id}"`);
  const first = ask(1);
  const bytes = index.bytes();
  for (let id = 1; id <= 4_200; id += 1) ask(id);
  const full = index.bytes();
  for (let id = 1; id <= 5_000; id += 1) ask(id);
  expect(full).toBeGreaterThan(bytes);
  expect(index.bytes()).toBe(full);
  expect(ask(1)).toEqual(first);
});
