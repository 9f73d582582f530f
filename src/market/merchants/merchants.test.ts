import { expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  pinListing,
  removeListing,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { makeGetStore } from './get-store.ts';
import { makeListMerchants } from './list-merchants.ts';

const db = testDatabase();
const market = () => marketContext({ database: db.database });
const listPage = (query: { limit?: string; after_id?: string } = {}) => {
  const on = market();
  return ask(on, endpoints.listMerchants, makeListMerchants(on.catalog), { query });
};
const readStore = (handle: string, query: { limit?: string; before_id?: string } = {}) => {
  const on = market();
  return ask(on, endpoints.getStore, makeGetStore(on.catalog), { params: { handle }, query });
};

it('lists no merchant before the first has joined', async () => {
  expect(await listPage()).toEqual({
    merchants: [],
    total: 0,
    returned: 0,
    page_size: 500,
    has_more: false,
    next_after_id: null,
  });
});

it('walks all merchants oldest first, new ones last, each with its live listings and its sales', async () => {
  const first = await seedMerchant(db.database, { handle: 'the-first' });
  const second = await seedMerchant(db.database, { handle: 'the-second' });
  await seedMerchant(db.database, { handle: 'the-third' });
  const sold = await seedListing(db.database, second.id);
  await seedPaidPurchase(db.database, sold.id);
  await seedPaidPurchase(db.database, sold.id, { merchantId: first.id });
  await withdrawListing(db.database, sold.id);
  await seedListing(db.database, second.id);

  const page = await listPage({ limit: '2' });
  expect(page).toMatchObject({ total: 3, returned: 2, page_size: 2, has_more: true, next_after_id: 2 });
  expect(page.merchants).toEqual([
    expect.objectContaining({
      id: 1,
      handle: 'the-first',
      maintainer: true,
      listings: 0,
      sales: 0,
      store_url: '/api/store/the-first',
    }),
    expect.objectContaining({
      id: 2,
      handle: 'the-second',
      maintainer: false,
      listings: 1,
      sales: 2,
      city_handle: null,
    }),
  ]);
  await seedMerchant(db.database, { handle: 'the-fourth' });
  const rest = await listPage({ limit: '2', after_id: '2' });
  expect(rest.merchants.map(({ handle }) => handle)).toEqual(['the-third', 'the-fourth']);
  expect(rest).toMatchObject({ total: 4, has_more: false, next_after_id: null });
  expect(await reasonOf(listPage({ after_id: '5' }))).toBe('cursor_invalid');
});

it('shows the whole live store without a limit, and by pages with one, newest first even past a pin', async () => {
  const merchant = await seedMerchant(db.database, { handle: 'shop' });
  const other = await seedMerchant(db.database, { handle: 'other-shop' });
  const ids: bigint[] = [];
  for (let count = 0; count < 6; count += 1) ids.push((await seedListing(db.database, merchant.id)).id);
  const [a = 0n, b = 0n, c = 0n, d = 0n, e = 0n, f = 0n] = ids;
  const foreign = await seedListing(db.database, other.id);
  await removeListing(db.database, c);
  await pinListing(db.database, a, true);

  const whole = await readStore('shop');
  expect(whole.listings.map(({ id }) => id)).toEqual([f, e, d, b, a].map(Number));
  expect(whole).toMatchObject({
    merchant: { handle: 'shop', listings: 5 },
    total: 5,
    returned: 5,
    page_size: 5,
    has_more: false,
    next_before_id: null,
  });

  const page = await readStore('shop', { limit: '2' });
  expect(page).toMatchObject({ total: 5, returned: 2, page_size: 2, has_more: true, next_before_id: Number(e) });
  // Adding and withdrawing meanwhile neither repeats a row nor breaks the cursor.
  await seedListing(db.database, merchant.id);
  await withdrawListing(db.database, e);
  const rest = await readStore('shop', { limit: '3', before_id: String(e) });
  expect(rest.listings.map(({ id }) => id)).toEqual([d, b, a].map(Number));
  expect(rest).toMatchObject({ total: 5, has_more: false, next_before_id: null });
  expect((await readStore('shop', { before_id: String(c) })).listings.map(({ id }) => id)).toEqual([b, a].map(Number));

  expect(await reasonOf(readStore('shop', { before_id: String(foreign.id) }))).toBe('cursor_invalid');
  expect(await reasonOf(readStore('no-such-merchant'))).toBe('not_found');
  expect(await readStore('the-third')).toMatchObject({
    listings: [],
    total: 0,
    returned: 0,
    page_size: 0,
    has_more: false,
  });
});
