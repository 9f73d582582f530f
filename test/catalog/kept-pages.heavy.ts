import fc from 'fast-check';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { settableClock, type TestMarket } from '../support/market-context.ts';
import {
  editListing,
  hideAllListings,
  pinListing,
  seedFreePurchase,
  seedStock,
  seedVote,
  withdrawListing,
} from '../support/seed.ts';
import { addressOf, asSent, type Change, change, goods, query } from './random-shelves.ts';
import { expectEqual } from './same-bytes.ts';
import { openStage, perform, processOn, type Stage } from './stage.ts';
import { longWayOrReason, quickAnswer, quickWay, type Said } from './ways.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});
beforeEach(() => hideAllListings(db.database));

async function upToDate(market: TestMarket): Promise<TestMarket> {
  await market.catalog.fresh();
  await market.catalog.searchable();
  return market;
}

type Deed = { kind: 'change'; change: Change } | { kind: 'read'; which: number };
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 2, arbitrary: change.map((one) => ({ kind: 'change' as const, change: one })) },
  { weight: 5, arbitrary: fc.nat(10_000).map((which) => ({ kind: 'read' as const, which })) },
);
const plan = fc.record({
  stock: fc.array(fc.record({ goods, seller: fc.nat(1) }), { minLength: 4, maxLength: 24, size: 'max' }),
  queries: fc.array(fc.tuple(query, fc.constantFrom(1, 2, 3, 5, 50), fc.boolean()), {
    minLength: 10,
    maxLength: 10,
    size: 'max',
  }),
  deeds: fc.array(deed, { minLength: 40, maxLength: 80, size: 'max' }),
});

/** Whether the page had to be put together to be given at once; null: it is not. */
function isMade(market: TestMarket, address: string): boolean | null {
  const { pagesMade } = market.catalog.answers;
  const before = pagesMade();
  const answer = quickAnswer(market, address);
  if (answer === null || answer.status !== 200) return null;
  answer.release?.();
  return pagesMade() > before;
}

/** Plain and in gzip, where it is given at once. */
function expectGiven(market: TestMarket, address: string, expected: Said): void {
  const plain = quickWay(market, address);
  if (plain !== null) expectEqual(plain, expected, address);
  const packed = quickWay(market, address, true);
  if (packed !== null) expectEqual({ ...packed, etag: expected.etag }, expected, address);
}

/** The page after that one. */
function nextOf(address: string, { etag, text }: Said): string | null {
  const cursor = etag === null ? null : JSON.parse(text).next_cursor;
  return cursor === null ? null : `${address.replace(/[?&]cursor=[^&]*/, '')}&cursor=${cursor}`;
}

it('whatever changes, a page that is kept is the one that a copy which was just read makes', async () => {
  const { database } = db;
  const old = processOn(database, { clock });
  const counted = { kept: 0, anew: 0 };
  await fc.assert(
    fc.asyncProperty(plan, async ({ stock, queries, deeds }) => {
      await hideAllListings(database);
      const ids: bigint[] = [];
      for (const seller of [0, 1]) {
        const own = stock.filter((one) => one.seller === seller).map((one) => one.goods);
        if (own.length > 0) ids.push(...(await seedStock(database, stage.sellers[seller] ?? 0n, own)));
      }
      const addresses = queries.map(([given, limit, outline]) =>
        addressOf({ ...asSent(given), limit: String(limit), ...(outline ? { fields: 'outline' } : {}) }),
      );
      const look = async (fresh: TestMarket, address: string): Promise<void> => {
        const expected = await longWayOrReason(fresh, address);
        const made = isMade(old, address);
        if (made !== null) counted[made ? 'anew' : 'kept'] += 1;
        expectGiven(old, address, expected);
        const next = nextOf(address, expected);
        if (next !== null && addresses.length < 40 && !addresses.includes(next)) addresses.push(next);
      };
      let fresh: TestMarket | null = null;
      await upToDate(old);
      for (const one of deeds) {
        if (one.kind === 'change') {
          await perform(stage, ids, one.change);
          fresh = null;
          continue;
        }
        if (fresh === null) {
          await upToDate(old);
          fresh = await upToDate(processOn(database, { clock }));
        }
        await look(fresh, addresses[one.which % addresses.length] ?? '');
      }
    }),
    { numRuns: Number(process.env['KEPT_RUNS'] ?? 15), seed: Number(process.env['KEPT_SEED'] ?? 20_260_109) },
  );
  // Both happen often, or nothing was proved.
  expect(counted.kept).toBeGreaterThan(100);
  expect(counted.anew).toBeGreaterThan(100);
}, 120_000);

const FIRST_PAGES = [
  '/api/shelves?aisle=data&limit=2',
  '/api/shelves?tag=lamp&limit=2',
  '/api/shelves?seller=lamp-house&limit=2&sort=price_asc',
  '/api/shelves?q=lamp%20&limit=2',
  '/api/shelves?q=lamp%20&limit=2&sort=new',
  '/api/shelves?aisle=data&sort=karma&limit=1',
  '/api/shelves?tag=lamp&sort=karma&limit=2',
  '/api/shelves?tag=lamp&sort=sales&limit=1',
  '/api/shelves?q=brass%20lam&limit=2',
];

it('a change that does not concern a page leaves it as it is, but for the counts of the aisles', async () => {
  const { database } = db;
  const [seller = 0n, other = 0n] = stage.sellers;
  const lamps = Array.from({ length: 4 }, (_, at) => ({
    title: `lamp ${'lamp '.repeat(at)}`,
    description: 'brass',
    tags: ['lamp'],
    aisle: 'data' as const,
    priceUnits: 0n,
  }));
  const ids = await seedStock(database, seller, lamps);
  // So many that how rare a word is does not move with one listing more.
  await seedStock(
    database,
    other,
    Array.from({ length: 400 }, () => ({ title: 'globe', description: 'globe', tags: [], aisle: 'tools' as const })),
  );
  const [elsewhere = 0n, leaves = 0n] = await seedStock(database, other, [
    { title: 'atlas', description: 'atlas', tags: ['red'], aisle: 'tools', priceUnits: 0n },
    { title: 'globe', description: 'globe', tags: ['red'], aisle: 'tools', priceUnits: 0n },
  ]);
  for (const id of ids.slice(2)) for (const voter of stage.voters) await seedVote(database, id, voter);
  await seedFreePurchase(database, ids[3] ?? 0n, stage.voters[0] ?? 0n);
  const old = await upToDate(processOn(database, { clock }));
  const pages = FIRST_PAGES.flatMap((address) => {
    const cursor = JSON.parse(quickWay(old, address)?.text ?? '').next_cursor;
    return [address, `${address}&cursor=${cursor}`];
  });
  const madeAnew = (): (boolean | null)[] => pages.map((address) => isMade(old, address));
  expect(madeAnew()).not.toContain(null);
  const texts = pages.map((address) => quickWay(old, address));
  const changes: (() => Promise<unknown>)[] = [
    () => seedVote(database, elsewhere, stage.voters[0] ?? 0n),
    () => editListing(database, elsewhere, { description: 'atlas of seas' }),
    () => editListing(database, elsewhere, { tags: ['sea-map'], aisle: 'other' }),
    () => withdrawListing(database, leaves),
    () => seedStock(database, other, [{ title: 'map', description: 'map', tags: [], aisle: 'tools' }]),
    () => pinListing(database, elsewhere, true),
    () => pinListing(database, elsewhere, false),
  ];
  for (const [at, make] of changes.entries()) {
    await make();
    await upToDate(old);
    for (const [which, made] of madeAnew().entries()) expect(made, `change ${at}: ${pages[which]}`).toBe(false);
  }
  const fresh = await upToDate(processOn(database, { clock }));
  for (const [which, address] of pages.entries()) {
    const expected = await longWayOrReason(fresh, address);
    expectEqual(quickWay(old, address), expected, address);
    expect(expected.etag === texts[which]?.etag, address).toBe(false);
  }
  // And what does concern them.
  for (const id of ids.slice(1)) await withdrawListing(database, id);
  await upToDate(old);
  for (const [which, made] of madeAnew().entries()) expect(made, pages[which]).toBe(true);
});

it('listings and kept pages together stay within the budget, and pages make room when listings come', async () => {
  const { database } = db;
  // The index of words takes three of them whatever is in it.
  const memoryBytes = 8 * 1_048_576;
  const list = async (count: number): Promise<void> => {
    const goods = Array.from({ length: count }, (_, at) => ({ title: `lamp ${at}`, description: 'lamp '.repeat(300) }));
    await seedStock(database, stage.sellers[0] ?? 0n, goods);
  };
  await list(150);
  const old = await upToDate(processOn(database, { clock, memoryBytes }));
  const taken = (): { pages: number; all: number } => {
    const { held, garbage } = old.catalog.model().fragments.bytes();
    const pages = old.catalog.answers.keptBytes();
    return { pages, all: held + garbage + pages };
  };
  const readAll = (): void => {
    for (let limit = 1; limit <= 50; limit += 1) {
      for (const sort of ['new', 'karma', 'price_asc', 'price_desc'] as const) {
        for (const gzip of [false, false, true]) quickWay(old, addressOf({ sort, limit: String(limit) }), gzip);
        expect(taken().all).toBeLessThanOrEqual(memoryBytes);
      }
    }
    // Nothing is lost of the memory for pages: all that is taken is kept.
    expect(old.catalog.model().pages.buffers.usedBytes()).toBeLessThanOrEqual(taken().pages);
  };
  readAll();
  const before = taken().pages;
  expect(before).toBeGreaterThan(memoryBytes / 16);
  await list(3_800);
  await upToDate(old);
  expect(taken().all).toBeLessThanOrEqual(memoryBytes);
  readAll();
  expect(taken().pages).toBeLessThan(before);
});
