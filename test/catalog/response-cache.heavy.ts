import fc from 'fast-check';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { settableClock, type TestMarket } from '../support/market-context.ts';
import { hideAllListings, seedStock } from '../support/seed.ts';
import { askOrReason, fromMemory, memoryAnswer, type Said } from './ask.ts';
import { addressOf, asSent, type Change, change, goods, query } from './random-shelves.ts';
import { expectEqual } from './same-bytes.ts';
import { openStage, perform, processOn, type Stage } from './stage.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6));
/** Enough for the stock of a plan. Node collects garbage for each buffer of a large copy, which takes longest in a worker with a full heap. */
const COPY_BYTES = 8 * 1_048_576;
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

/** Returns true if the page was built, false if it was cached, and null if it is not answered from memory. */
function isMade(market: TestMarket, address: string): boolean | null {
  const { pagesMade } = market.catalog.answers;
  const before = pagesMade();
  const answer = memoryAnswer(market, address);
  if (answer === null) return null;
  answer.release?.();
  return pagesMade() > before;
}

/** Checks both encodings if the page is answered from memory. */
function expectGiven(market: TestMarket, address: string, expected: Said): void {
  const plain = fromMemory(market, address);
  if (plain !== null) expectEqual(plain, expected, address);
  const packed = fromMemory(market, address, true);
  if (packed !== null) expectEqual({ ...packed, etag: expected.etag }, expected, address);
}

function nextOf(address: string, { etag, text }: Said): string | null {
  const cursor = etag === null ? null : JSON.parse(text).next_cursor;
  return cursor === null ? null : `${address.replace(/[?&]cursor=[^&]*/, '')}&cursor=${cursor}`;
}

it('whatever changes, a page from the cache is the one that a copy which was just read makes', async () => {
  const { database } = db;
  const old = processOn(database, { clock });
  const counted = { kept: 0, remade: 0 };
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
        const expected = await askOrReason(fresh, address);
        const made = isMade(old, address);
        if (made !== null) counted[made ? 'remade' : 'kept'] += 1;
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
          fresh = await upToDate(processOn(database, { clock, memoryBytes: COPY_BYTES }));
        }
        await look(fresh, addresses[one.which % addresses.length] ?? '');
      }
    }),
    { numRuns: Number(process.env['KEPT_RUNS'] ?? 15), seed: Number(process.env['KEPT_SEED'] ?? 20_260_109) },
  );
  // Both must happen often, because the test would otherwise prove nothing.
  expect(counted.kept).toBeGreaterThan(100);
  expect(counted.remade).toBeGreaterThan(100);
}, 120_000);

it('listings and finished responses together stay within the budget, and pages make room when listings come', async () => {
  const { database } = db;
  // The word index alone takes three megabytes, even when empty.
  const memoryBytes = 8 * 1_048_576;
  const list = async (count: number): Promise<void> => {
    const goods = Array.from({ length: count }, (_, at) => ({ title: `lamp ${at}`, description: 'lamp '.repeat(300) }));
    await seedStock(database, stage.sellers[0] ?? 0n, goods);
  };
  await list(150);
  const old = await upToDate(processOn(database, { clock, memoryBytes }));
  const taken = (): { pages: number; all: number } => {
    const { live, garbage } = old.catalog.model().fragments.bytes();
    const pages = old.catalog.answers.cache.bytes();
    return { pages, all: live + garbage + pages };
  };
  const readAll = (): void => {
    for (let limit = 1; limit <= 50; limit += 1) {
      for (const sort of ['new', 'karma', 'price_asc', 'price_desc'] as const) {
        for (const gzip of [false, false, true]) fromMemory(old, addressOf({ sort, limit: String(limit) }), gzip);
        expect(taken().all).toBeLessThanOrEqual(memoryBytes);
      }
    }
    // Every buffer taken for pages must still belong to a cached page, or memory has leaked.
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
