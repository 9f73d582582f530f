import { expect, it } from 'vitest';
import { browsePage, idsOf, reasonOf, walkShelves } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import {
  pinListing,
  removeListing,
  seedFreePurchase,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../../test/support/seed.ts';
import { AISLES, type Aisle } from '../../../contract/vocabulary.ts';

const db = testDatabase();

it('lists nothing on an empty market, with all nine aisles at zero', async () => {
  const page = await browsePage(marketContext({ database: db.database }), {});
  expect(page).toMatchObject({
    listings: [],
    total: 0,
    returned: 0,
    page_size: 50,
    has_more: false,
    next_cursor: null,
  });
  expect(page.aisles).toEqual(AISLES.map((name) => ({ name, count: 0, url: `/api/shelves?aisle=${name}` })));
});

it('shows live listings only: pinned first, then the newest, with counts that no filter changes', async () => {
  const market = marketContext({ database: db.database });
  const merchant = await seedMerchant(db.database);
  const put = async (aisle: Aisle) => (await seedListing(db.database, merchant.id, { aisle })).id;
  const [a, b, c, d, e, f] = [
    await put('data'),
    await put('tools'),
    await put('data'),
    await put('data'),
    await put('other'),
    await put('data'),
  ];
  await removeListing(db.database, c);
  await withdrawListing(db.database, e);
  await pinListing(db.database, a, true);

  expect(idsOf(await browsePage(market, {}))).toEqual([a, f, d, b].map(Number));
  const data = await browsePage(market, { aisle: 'data', limit: '2' });
  expect(idsOf(data)).toEqual([a, f].map(Number));
  expect(data).toMatchObject({ total: 3, returned: 2, page_size: 2, has_more: true });
  expect(data.aisles.filter(({ count }) => count > 0)).toEqual([
    { name: 'tools', count: 1, url: '/api/shelves?aisle=tools' },
    { name: 'data', count: 3, url: '/api/shelves?aisle=data' },
  ]);
  expect((await walkShelves(market, { aisle: 'data', limit: '1' })).ids).toEqual([a, f, d].map(Number));
  expect(await browsePage(market, { aisle: 'wanted' })).toMatchObject({ listings: [], total: 0, has_more: false });
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
  const page = await browsePage(marketContext({ database: db.database }), { aisle: 'prompts' });
  expect(page.listings).toMatchObject([
    { id: Number(other.id), sales: 1, verified_sales: 0 },
    { id: Number(paid.id), sales: 3, verified_sales: 2 },
  ]);
});

it('refuses a cursor with other filters, a changed one, and one that is older than a day', async () => {
  const clock = settableClock(Date.UTC(2026, 0, 6));
  const market = marketContext({ database: db.database, clock });
  const cursor = (await browsePage(market, { limit: '1' })).next_cursor ?? '';
  expect(await reasonOf(browsePage(market, { aisle: 'data', cursor }))).toBe('cursor_invalid');
  expect(await reasonOf(browsePage(market, { cursor: `${cursor}A` }))).toBe('cursor_invalid');
  expect(idsOf(await browsePage(market, { limit: '50', cursor })).length).toBeGreaterThan(0);
  clock.set(Date.UTC(2026, 0, 7, 0, 1));
  expect(await reasonOf(browsePage(market, { cursor }))).toBe('cursor_expired');
});

it('goes on when a row that it has shown as pinned is unpinned, without showing it again', async () => {
  const market = marketContext({ database: db.database });
  const merchant = await seedMerchant(db.database);
  const ids: bigint[] = [];
  for (let count = 0; count < 5; count += 1)
    ids.push((await seedListing(db.database, merchant.id, { aisle: 'services' })).id);
  const [first = 0n, second = 0n, third = 0n, fourth = 0n, fifth = 0n] = ids;
  await pinListing(db.database, first, true);
  await pinListing(db.database, second, true);
  let acts = 0;
  const { ids: seen } = await walkShelves(market, { aisle: 'services', limit: '1' }, async () => {
    acts += 1;
    if (acts > 1) return;
    await pinListing(db.database, second, false);
    await pinListing(db.database, first, false);
    await pinListing(db.database, first, true);
    await pinListing(db.database, third, true);
  });
  expect(seen).toEqual([second, first, fifth, fourth, third].map(Number));
  expect((await walkShelves(market, { aisle: 'services', limit: '2' })).ids).toEqual(
    [third, first, fifth, fourth, second].map(Number),
  );
});
