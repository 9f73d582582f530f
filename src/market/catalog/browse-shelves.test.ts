import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { createTestDatabase, testDatabase } from '../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../test/support/market-context.ts';
import {
  hideAllListings,
  moveListing,
  pinListing,
  removeListing,
  restoreListing,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { AISLES, type Aisle } from '../../contract/vocabulary.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { browseShelves } from './browse-shelves.ts';

type Given = { aisle?: Aisle; limit?: string; cursor?: string };
const browse = (market: Market, query: Given) => ask(market, endpoints.browseShelves, browseShelves, { query });
type Page = Awaited<ReturnType<typeof browse>>;
const idsOf = (page: Page): number[] => page.listings.map(({ id }) => id);

/** Walks to the end, letting `between` act after each page but the last. */
async function walk(market: Market, query: Given, between: () => Promise<void> = async () => {}) {
  const pages = [await browse(market, query)];
  for (let cursor = pages[0]?.next_cursor; cursor; cursor = pages.at(-1)?.next_cursor) {
    await between();
    pages.push(await browse(market, { ...query, cursor }));
  }
  return { pages, ids: pages.flatMap(idsOf) };
}

describe('shelves', () => {
  const db = testDatabase();

  it('lists nothing on an empty market, with all nine aisles at zero', async () => {
    const page = await browse(marketContext({ database: db.database }), {});
    expect(page).toMatchObject({ listings: [], total: 0, returned: 0, page_size: 50, has_more: false, next_cursor: null });
    expect(page.aisles).toEqual(AISLES.map((name) => ({ name, count: 0, url: `/api/shelves?aisle=${name}` })));
  });

  it('shows live listings only: pinned first, then the newest, with counts that no filter changes', async () => {
    const market = marketContext({ database: db.database });
    const merchant = await seedMerchant(db.database);
    const put = async (aisle: Aisle) => (await seedListing(db.database, merchant.id, { aisle })).id;
    const [a, b, c, d, e, f] = [await put('data'), await put('tools'), await put('data'), await put('data'), await put('other'), await put('data')];
    await removeListing(db.database, c);
    await withdrawListing(db.database, e);
    await pinListing(db.database, a, true);

    expect(idsOf(await browse(market, {}))).toEqual([a, f, d, b].map(Number));
    const data = await browse(market, { aisle: 'data', limit: '2' });
    expect(idsOf(data)).toEqual([a, f].map(Number));
    expect(data).toMatchObject({ total: 3, returned: 2, page_size: 2, has_more: true });
    expect(data.aisles.filter(({ count }) => count > 0)).toEqual([
      { name: 'tools', count: 1, url: '/api/shelves?aisle=tools' },
      { name: 'data', count: 3, url: '/api/shelves?aisle=data' },
    ]);
    expect((await walk(market, { aisle: 'data', limit: '1' })).ids).toEqual([a, f, d].map(Number));
    expect(await browse(market, { aisle: 'wanted' })).toMatchObject({ listings: [], total: 0, has_more: false });
  });

  it('counts sales, and as verified only those paid by wallets that the merchant does not sell with', async () => {
    const seller = await seedMerchant(db.database);
    const buyer = await seedMerchant(db.database);
    const paid = await seedListing(db.database, seller.id, { aisle: 'prompts' });
    const other = await seedListing(db.database, seller.id, { aisle: 'prompts', priceUnits: 0n });
    await seedPaidPurchase(db.database, paid.id);
    await seedPaidPurchase(db.database, paid.id, { merchantId: buyer.id });
    await seedPaidPurchase(db.database, paid.id, { payer: other.wallet });
    await seedFreePurchase(db.database, other.id, buyer.id);
    const page = await browse(marketContext({ database: db.database }), { aisle: 'prompts' });
    expect(page.listings.map(({ id, sales, verified_sales }) => ({ id, sales, verified_sales }))).toEqual([
      { id: Number(other.id), sales: 1, verified_sales: 0 },
      { id: Number(paid.id), sales: 3, verified_sales: 2 },
    ]);
  });

  it('refuses a cursor with other filters, a changed one, and one that is older than a day', async () => {
    const clock = settableClock(Date.UTC(2026, 0, 6));
    const market = marketContext({ database: db.database, clock });
    const cursor = (await browse(market, { limit: '1' })).next_cursor ?? '';
    expect(await reasonOf(browse(market, { aisle: 'data', cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(browse(market, { cursor: `${cursor}A` }))).toBe('cursor_invalid');
    expect(idsOf(await browse(market, { limit: '50', cursor })).length).toBeGreaterThan(0);
    clock.set(Date.UTC(2026, 0, 7, 0, 1));
    expect(await reasonOf(browse(market, { cursor }))).toBe('cursor_expired');
  });

  it('goes on when a row that it has shown as pinned is unpinned, without showing it again', async () => {
    const market = marketContext({ database: db.database });
    const merchant = await seedMerchant(db.database);
    const ids: bigint[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await seedListing(db.database, merchant.id, { aisle: 'services' })).id);
    const [first = 0n, second = 0n, third = 0n, fourth = 0n, fifth = 0n] = ids;
    await pinListing(db.database, first, true);
    await pinListing(db.database, second, true);
    let acts = 0;
    const { ids: seen } = await walk(market, { aisle: 'services', limit: '1' }, async () => {
      acts += 1;
      if (acts > 1) return;
      await pinListing(db.database, second, false);
      await pinListing(db.database, first, false);
      await pinListing(db.database, first, true);
      await pinListing(db.database, third, true);
    });
    expect(seen).toEqual([second, first, fifth, fourth, third].map(Number));
    expect((await walk(market, { aisle: 'services', limit: '2' })).ids).toEqual(
      [third, first, fifth, fourth, second].map(Number),
    );
  });
});

describe('a walk of the shelves while everything moves', () => {
  type Act = { kind: 'add' | 'withdraw' | 'remove' | 'pin' | 'unpin' | 'move' | 'return'; which: number; aisle: Aisle };
  const aisles: Aisle[] = ['data', 'tools'];
  const act = fc.record({
    kind: fc.constantFrom<Act['kind']>('add', 'add', 'withdraw', 'remove', 'pin', 'unpin', 'move', 'return'),
    which: fc.nat(100),
    aisle: fc.constantFrom(...aisles),
  });
  const plan = fc.record({
    start: fc.array(fc.record({ aisle: fc.constantFrom(...aisles), pinned: fc.boolean() }), { maxLength: 12 }),
    limit: fc.integer({ min: 1, max: 4 }),
    aisle: fc.option(fc.constantFrom(...aisles), { nil: undefined }),
    acts: fc.array(fc.array(act, { maxLength: 4 }), { maxLength: 12 }),
  });

  /** Does it, and says which listing is no longer one that the walk must show. */
  async function perform(database: Database, merchantId: bigint, ids: bigint[], { kind, which, aisle }: Act): Promise<bigint | null> {
    if (kind === 'add') {
      await seedListing(database, merchantId, { aisle, pinned: which % 3 === 0 });
      return null;
    }
    const id = ids[which % ids.length];
    if (id === undefined) return null;
    if (kind === 'pin' || kind === 'unpin') {
      await pinListing(database, id, kind === 'pin');
      return null;
    }
    if (kind === 'withdraw') await withdrawListing(database, id);
    if (kind === 'remove') await removeListing(database, id);
    if (kind === 'move') await moveListing(database, id, aisle);
    if (kind === 'return') await restoreListing(database, id);
    return id;
  }

  it('never shows a row twice, never more rows than its first page counted, and all that stood still', async () => {
    const { database, drop } = await createTestDatabase();
    try {
      const market = marketContext({ database, clock: settableClock(Date.UTC(2026, 0, 6)) });
      await fc.assert(
        fc.asyncProperty(plan, async ({ start, limit, aisle, acts }) => {
          const merchant = await seedMerchant(database);
          await hideAllListings(database);
          const ids: bigint[] = [];
          for (const given of start) ids.push((await seedListing(database, merchant.id, given)).id);
          const filter = aisle === undefined ? {} : { aisle };
          const due = new Set(start.flatMap((given, at) => (aisle === undefined || given.aisle === aisle ? [Number(ids[at])] : [])));
          const entered = new Set<number>();
          const rest = [...acts];
          const { pages, ids: seen } = await walk(market, { ...filter, limit: String(limit) }, async () => {
            for (const one of rest.shift() ?? []) {
              const touched = await perform(database, merchant.id, ids, one);
              if (touched === null) continue;
              due.delete(Number(touched));
              if (one.kind === 'move' || one.kind === 'return') entered.add(Number(touched));
            }
          });
          expect(new Set(seen).size).toBe(seen.length);
          expect(seen.length).toBeLessThanOrEqual(pages[0]?.total ?? 0);
          // A row that comes into the filter on the way may take the place of the last one.
          if (entered.size === 0) expect(seen).toEqual(expect.arrayContaining([...due]));
          for (const page of pages) expect(page.returned).toBe(page.listings.length);
        }),
        { numRuns: 60, seed: 20260105 },
      );
    } finally {
      await drop();
    }
  });
});
