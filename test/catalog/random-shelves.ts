import fc from 'fast-check';
import type { Aisle, Sort } from '../../src/contract/vocabulary.ts';
import type { ShelfGiven } from '../support/ask.ts';
import type { SeedGoods } from '../support/seed.ts';
import type { NaiveQuery } from './naive-shelves.ts';
import { randomNeed, textOfNeed } from './random-needs.ts';

/** Few words, some of them frequent, so that queries match. Some are prefixes of others, some share a stem or are spelled alike. */
const OFTEN = ['lamp', 'lamp', 'lamp', 'lamp', 'map', 'map', 'map', 'brass', 'brass', 'for the'];
const SELDOM = [
  'lamps',
  'lamplight',
  'mapper',
  'atlas',
  'brassy',
  'seven7',
  'caf\u00e9',
  '\u5730',
  '\u56f3',
  '\u5730\u56f3',
];
const SPELLINGS = [
  'front end',
  'frontend',
  'back-end',
  'k8s',
  'kubernetes',
  'M\u00fcll',
  'muell',
  'colour',
  'color',
  'c++',
];
const RARE = [
  'lampp',
  'nowhere',
  'end',
  'front',
  'node.js',
  'nodejs',
  'todo',
  'to do',
  '\u56f3\u9928',
  '\u043a\u0430\u0440\u0442\u0430',
];
const WORDS = [...OFTEN, ...OFTEN, ...OFTEN, ...SELDOM, ...SELDOM, ...SPELLINGS, ...RARE];
const TAGS = ['lamp', 'sea-map', 'red', 'brass-lamp'];
const AISLES_USED: readonly Aisle[] = ['data', 'tools', 'other'];
const LICENSES = ['MIT', 'MIT OR Apache-2.0', 'other'];
const PRICES = [0n, 1n, 1_000_000n, 2_500_000n];
export const SELLERS = ['lamp-house', 'red-atlas'];

const text = (min: number, max: number) =>
  fc.array(fc.constantFrom(...WORDS), { minLength: min, maxLength: max }).map((words) => words.join(' '));
const aisle = fc.constantFrom(...AISLES_USED);
const tags = fc.uniqueArray(fc.constantFrom(...TAGS), { maxLength: 3 });
const keywords = fc.array(text(1, 2), { maxLength: 2 });
const license = fc.constantFrom(null, ...LICENSES);

export const goods: fc.Arbitrary<SeedGoods> = fc.record({
  title: text(1, 3),
  description: text(1, 6),
  preview: text(0, 3),
  tags,
  keywords,
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
      part: Partial<Pick<SeedGoods, 'title' | 'description' | 'tags' | 'keywords' | 'aisle' | 'license'>>;
    }
  | { kind: 'withdraw' | 'remove' | 'restore' | 'pin' | 'unpin' | 'free sale' | 'paid sale'; which: number }
  | { kind: 'vote'; which: number; voter: number }
  | { kind: 'merchant' };

const which = fc.nat(1_000);
const part = fc.oneof(
  fc.record({ title: text(1, 3) }),
  fc.record({ description: text(1, 6) }),
  fc.record({ tags }),
  fc.record({ keywords }),
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

const withQ: fc.Arbitrary<Pick<NaiveQuery, 'need' | 'sort'>> = fc.record({
  need: randomNeed,
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
const withoutQ: fc.Arbitrary<Pick<NaiveQuery, 'need' | 'sort'>> = fc.record({
  need: fc.constant(null),
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
  const { need, tag, aisle: inAisle, license: under, seller, free, mostUnits, verifiedMin, sort } = given;
  return {
    sort,
    ...(need === null ? {} : { q: textOfNeed(need) }),
    ...(need?.match === 'all' ? { match: 'all' } : {}),
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

export function addressOf(given: ShelfGiven): string {
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) sent.set(name, String(value));
  return sent.size === 0 ? '/api/shelves' : `/api/shelves?${sent}`;
}
