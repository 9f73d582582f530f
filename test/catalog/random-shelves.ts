import fc from 'fast-check';
import type { Aisle, Sort } from '../../src/contract/vocabulary.ts';
import type { ShelfGiven } from '../support/ask.ts';
import type { SeedGoods } from '../support/seed.ts';
import type { NaiveQuery, NaiveTerm } from './naive-shelves.ts';

/** Few words, some of them frequent, so that queries match. Some are prefixes of others, and some share a stem. */
const OFTEN = ['lamp', 'lamp', 'lamp', 'lamp', 'map', 'map', 'map', 'brass', 'brass'];
const SELDOM = ['lamps', 'lamplight', 'mapper', 'atlas', 'brassy', 'seven7', 'caf\u00e9', '\u5730', '\u56f3'];
const WORDS = [...OFTEN, ...SELDOM];
const TAGS = ['lamp', 'sea-map', 'red', 'brass-lamp'];
const AISLES_USED: readonly Aisle[] = ['data', 'tools', 'other'];
const LICENSES = ['MIT', 'MIT OR Apache-2.0', 'other'];
const PRICES = [0n, 1n, 1_000_000n, 2_500_000n];
export const SELLERS = ['lamp-house', 'red-atlas'];

const text = (min: number, max: number) =>
  fc.array(fc.constantFrom(...WORDS), { minLength: min, maxLength: max }).map((words) => words.join(' '));
const aisle = fc.constantFrom(...AISLES_USED);
const tags = fc.uniqueArray(fc.constantFrom(...TAGS), { maxLength: 3 });
const license = fc.constantFrom(null, ...LICENSES);

export const goods: fc.Arbitrary<SeedGoods> = fc.record({
  title: text(1, 3),
  description: text(1, 6),
  preview: text(0, 3),
  tags,
  aisle,
  license,
  priceUnits: fc.constantFrom(...PRICES),
  pinned: fc.integer({ min: 0, max: 4 }).map((die) => die === 0),
});

export type Change =
  | { kind: 'add'; goods: SeedGoods; seller: number }
  | {
      kind: 'edit';
      which: number;
      part: Partial<Pick<SeedGoods, 'title' | 'description' | 'tags' | 'aisle' | 'license'>>;
    }
  | { kind: 'withdraw' | 'remove' | 'restore' | 'pin' | 'unpin' | 'free sale' | 'paid sale'; which: number }
  | { kind: 'vote'; which: number; voter: number }
  | { kind: 'merchant' };

const which = fc.nat(1_000);
const part = fc.oneof(
  fc.record({ title: text(1, 3) }),
  fc.record({ description: text(1, 6) }),
  fc.record({ tags }),
  fc.record({ aisle }),
  fc.record({ license }),
);

export const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), goods, seller: fc.nat(1) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('edit' as const), which, part }) },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'withdraw' as const,
        'remove' as const,
        'restore' as const,
        'restore' as const,
        'pin' as const,
        'unpin' as const,
        'free sale' as const,
        'paid sale' as const,
      ),
      which,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('vote' as const), which, voter: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('merchant' as const) }) },
);

const word = fc.constantFrom(...OFTEN, ...OFTEN, 'lamps', 'mapper', 'brassy', 'seven7', 'cafe', 'house', 'nowhere');
const term: fc.Arbitrary<NaiveTerm> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('word' as const),
      words: fc.tuple(word),
      excluded: fc.integer({ min: 0, max: 3 }).map((die) => die === 0),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('phrase' as const),
      words: fc.tuple(word, word),
      excluded: fc.integer({ min: 0, max: 2 }).map((die) => die === 0),
    }),
  },
);
const beginning: fc.Arbitrary<NaiveTerm> = fc.constantFrom('lam', 'lamp', 'map', 'bras', 'caf', 'atl').map((start) => ({
  kind: 'beginning',
  words: [start],
  excluded: false,
}));

const terms = fc
  .tuple(
    fc.oneof(fc.tuple(term), fc.tuple(term), fc.array(term, { maxLength: 2, size: 'max' })),
    fc.option(beginning, { nil: null, freq: 1 }),
  )
  .map(([first, last]) => (last === null ? first : [...first, last]))
  .filter((all) => all.length > 0);

const withQ: fc.Arbitrary<Pick<NaiveQuery, 'terms' | 'sort'>> = fc.record({
  terms,
  sort: fc.constantFrom<Sort>(
    'relevance',
    'relevance',
    'relevance',
    'new',
    'karma',
    'sales',
    'price_asc',
    'price_desc',
  ),
});
const withoutQ: fc.Arbitrary<Pick<NaiveQuery, 'terms' | 'sort'>> = fc.record({
  terms: fc.constant(null),
  sort: fc.constantFrom<Sort>('new', 'karma', 'sales', 'price_asc', 'price_desc'),
});

/** Generates mostly null, because strict filters rarely leave enough rows for several pages. */
const seldom = <T>(...values: T[]): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...values) });

export const query: fc.Arbitrary<NaiveQuery> = fc
  .tuple(
    fc.oneof(withQ, withoutQ),
    fc.record({
      tag: seldom('lamp', 'lamp', 'sea-map', 'nothing-has-it'),
      aisle: seldom(...AISLES_USED),
      license: seldom('MIT', 'MIT OR Apache-2.0', 'ISC'),
      seller: seldom(...SELLERS, ...SELLERS, 'no-such-seller'),
      free: seldom(true, false, false),
      mostUnits: seldom(0n, 1n, 1_000_000n, 1_000_000n),
      verifiedMin: seldom(1, 1, 2).map((least) => least ?? 0),
    }),
  )
  .map(([words, filters]) => ({ ...words, ...filters }));

/** Formats a query as a client sends it. */
export function asSent(given: NaiveQuery): ShelfGiven {
  const { terms: all, tag, aisle: inAisle, license: under, seller, free, mostUnits, verifiedMin, sort } = given;
  return {
    sort,
    ...(all === null ? {} : { q: writeTerms(all) }),
    ...(tag === null ? {} : { tag }),
    ...(inAisle === null ? {} : { aisle: inAisle }),
    ...(under === null ? {} : { license: under }),
    ...(seller === null ? {} : { seller }),
    ...(free === null ? {} : { free: free ? 'true' : 'false' }),
    ...(mostUnits === null ? {} : { max_price_usdc: usdcText(mostUnits) }),
    ...(verifiedMin === 0 ? {} : { verified_sales_min: String(verifiedMin) }),
  };
}

function usdcText(units: bigint): string {
  return units < 1_000_000n ? (units === 0n ? '0' : `0.${String(units).padStart(6, '0')}`) : String(units / 1_000_000n);
}

function writeTerms(all: readonly NaiveTerm[]): string {
  const texts = all.map(({ kind, words, excluded }) => {
    const bare = kind === 'phrase' ? `"${words.join(' ')}"` : words.join(' ');
    return excluded ? `-${bare}` : bare;
  });
  // A space after the last word marks it as complete.
  return `${texts.join(' ')}${all.at(-1)?.kind === 'beginning' ? '' : ' '}`;
}

export function addressOf(given: ShelfGiven): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) sent.set(name, String(value));
  return sent.size === 0 ? '/api/shelves' : `/api/shelves?${sent}`;
}
