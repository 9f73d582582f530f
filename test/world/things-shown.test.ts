import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import type { BodyGiven } from '../../src/contract/endpoint.ts';
import { type Endpoints, endpoints } from '../../src/contract/index.ts';
import { makeGetListing } from '../../src/market/catalog/get-listing.ts';
import { REMOVAL_NOTICE, readListingDetail } from '../../src/market/catalog/present-listing.ts';
import { makeBrowseShelves } from '../../src/market/catalog/shelf/browse-shelves.ts';
import { makeGetWindow } from '../../src/market/get-window.ts';
import { getMe } from '../../src/market/history/get-me.ts';
import { listPurchases } from '../../src/market/history/purchase-history.ts';
import { editListing } from '../../src/market/listings/changes/edit-listing.ts';
import { makeGetStore } from '../../src/market/merchants/get-store.ts';
import { makeListMerchants } from '../../src/market/merchants/list-merchants.ts';
import { isoTime } from '../../src/platform/clock.ts';
import { ask } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { act, eventsOf } from '../support/listing-life.ts';
import { marketContext, type TestMarket } from '../support/market-context.ts';
import {
  removeListing,
  restoreListing,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  withdrawListing,
} from '../support/seed.ts';
import { endWorldListing, SEED_CITY, seedWorldListing, seedWorldSale } from '../support/world-listing.ts';

// Every reader must see the same state of a city's thing, in the in-memory copy and in a fresh read.

const db = testDatabase();
let followed: TestMarket;
let seller: SeededMerchant;
let buyer: SeededMerchant;

beforeAll(async () => {
  followed = marketContext({ database: db.database });
  seller = await seedMerchant(db.database, { handle: 'the-seller' });
  buyer = await seedMerchant(db.database, { handle: 'the-buyer' });
});

const detailIn = (market: TestMarket, id: bigint) =>
  ask(market, endpoints.getListing, makeGetListing(market.catalog), { params: { id: String(id) } });

/** Reads the listing from the followed copy, a fresh copy and the database, and expects the same result. */
async function detailOf(id: bigint) {
  const answer = await detailIn(followed, id);
  expect(await detailIn(marketContext({ database: db.database }), id)).toEqual(answer);
  expect(await readListingDetail(db.database, id)).toEqual(answer.listing);
  return answer;
}

const worldAisle = async () => {
  const page = await ask(followed, endpoints.browseShelves, makeBrowseShelves(followed.catalog), {
    query: { aisle: 'world' },
  });
  const { count } = page.aisles.find(({ name }) => name === 'world') ?? expect.fail();
  expect(count).toBe(page.total);
  return page.listings.map((listing) => BigInt('id' in listing ? listing.id : 0));
};
const stored = async () => {
  const page = await ask(followed, endpoints.getStore, makeGetStore(followed.catalog), {
    params: { handle: seller.handle },
    query: {},
  });
  expect(page.merchant.listings).toBe(page.total);
  return page.listings.map(({ id }) => BigInt(id));
};

describe('a thing', () => {
  it('stands in its own aisle with what is known of its city, and with no artifact', async () => {
    const thing = await seedWorldListing(db.database, seller.id, { title: 'A red house', tags: ['house'] });
    const { listing, artifact } = await detailOf(thing.id);
    expect(artifact).toBe(`Purchase required: POST /api/world/checkout/${thing.id} opens the way to it.`);
    expect(listing).toMatchObject({
      title: 'A red house',
      aisle: 'world',
      price_usdc: 4,
      state: 'live',
      delivery_kind: 'city_ownership',
      city_url: SEED_CITY,
      world_offer_id: Number(thing.offerId),
      world_asset_id: Number(thing.thingId),
      world_seller_handle: 'resident-one',
      world_draft_id: Number(thing.draftId),
      world_state: 'active',
      city_offer_url: `${SEED_CITY}/offer/${thing.offerId}`,
      world_asset_url: `${SEED_CITY}/thing/${thing.thingId}`,
      requires_city_resident: true,
      artifact_commitment: null,
      artifact_bytes: null,
      artifact_media_type: null,
      world_receipt: null,
      supersedes: null,
    });
    expect([await worldAisle(), await stored()]).toEqual([[thing.id], [thing.id]]);
    const goods = await seedListing(db.database, seller.id);
    expect(await worldAisle()).toEqual([thing.id]);
    expect((await detailOf(goods.id)).listing).toMatchObject({ delivery_kind: 'artifact', world_receipt: null });
    await withdrawListing(db.database, goods.id);
  });

  it('leaves the shelves when it is sold, and says who received what by which transfer', async () => {
    const thing = await seedWorldListing(db.database, seller.id);
    expect(await worldAisle()).toContain(thing.id);
    const sale = await seedWorldSale(db.database, thing.id, { merchantId: buyer.id, cityHandle: 'new-owner' });
    expect([...(await worldAisle()), ...(await stored())]).not.toContain(thing.id);
    const { listing, artifact } = await detailOf(thing.id);
    expect(artifact).toBe('Unavailable: this listing is not for sale, it is sold.');
    expect(listing).toMatchObject({ state: 'sold', world_state: 'sold', sales: 1, verified_sales: 1 });
    expect(listing.world_receipt).toEqual({
      offer_id: Number(thing.offerId),
      thing_id: Number(thing.thingId),
      thing_url: `${SEED_CITY}/thing/${thing.thingId}`,
      city_handle: 'new-owner',
      tx_hash: sale.txHash,
      block_number: Number(sale.blockNumber),
      claimed_at: isoTime(sale.claimedAt),
    });
  });

  it.each(['canceled', 'stale'] as const)('that is %s is on no shelf and keeps its withdrawal', async (state) => {
    const thing = await seedWorldListing(db.database, seller.id);
    await withdrawListing(db.database, thing.id);
    expect((await detailOf(thing.id)).listing).toMatchObject({ state: 'withdrawn', world_state: 'active' });
    await endWorldListing(db.database, thing.id, state);
    expect(await worldAisle()).not.toContain(thing.id);
    const { listing, artifact } = await detailOf(thing.id);
    expect(listing).toMatchObject({ state, world_state: state, withdrawn: true, world_receipt: null });
    expect(artifact).toMatch(/^Unavailable/);
  });

  it('that was removed stays without title and preview when it is sold; one that was restored shows them', async () => {
    const [removed, restored] = [
      await seedWorldListing(db.database, seller.id, { title: 'Not to be read' }),
      await seedWorldListing(db.database, seller.id, { title: 'Good after all' }),
    ];
    for (const { id } of [removed, restored]) await removeListing(db.database, id);
    expect((await detailOf(removed.id)).listing).toMatchObject({ state: 'removed', world_state: 'active' });
    await restoreListing(db.database, restored.id);
    for (const { id } of [removed, restored]) await seedWorldSale(db.database, id, { merchantId: buyer.id });
    const gone = { title: REMOVAL_NOTICE, preview: '', state: 'sold', removed: true, removed_reason_code: 'policy' };
    expect((await detailOf(removed.id)).listing).toMatchObject(gone);
    expect((await detailOf(restored.id)).listing).toMatchObject({ title: 'Good after all', removed: false });
    const told = JSON.stringify([
      await ask(followed, endpoints.listPurchases, listPurchases, { caller: buyer, query: {} }),
      await ask(followed, endpoints.getMe, getMe, { caller: buyer, query: {} }),
      await ask(followed, endpoints.getMe, getMe, { caller: seller, query: {} }),
    ]);
    expect(told).toContain('Good after all');
    expect(told).not.toContain('Not to be read');
  });
});

it('one stays as it was listed: an edit of any field is refused, and names it', async () => {
  const { id } = await seedWorldListing(db.database, seller.id);
  const before = await detailOf(id);
  const edit = (body: BodyGiven<Endpoints['editListing']>, caller = seller) =>
    act(followed, endpoints.editListing, editListing, { id, body, caller });
  for (const body of [{ preview: 'new' }, { title: 'New', artifact: 'goods' }, { tags: ['x'] }]) {
    const errors = Object.keys(body).map((path) => ({ path, message: expect.any(String) }));
    await expect(edit(body)).rejects.toMatchObject({ reason: 'listing_closed', options: { errors } });
  }
  await expect(edit({ preview: 'mine' }, buyer)).rejects.toMatchObject({ reason: 'not_owner' });
  expect(await detailOf(id)).toEqual(before);
  expect(await eventsOf(db.database, id)).toEqual([]);
});

it('a purchase of one has a receipt in place of goods, and is a sale like others', async () => {
  const [from, by] = [await seedMerchant(db.database), await seedMerchant(db.database)];
  const thing = await seedWorldListing(db.database, from.id, { title: 'A boat' });
  const sale = await seedWorldSale(db.database, thing.id, { merchantId: by.id });
  const { purchases, total } = await ask(followed, endpoints.listPurchases, listPurchases, { caller: by, query: {} });
  const row = {
    id: Number(sale.id),
    listing_id: Number(thing.id),
    title: 'A boat',
    seller: from.handle,
    price_usdc: 4,
    paid_usdc: 4,
    tx_hash: sale.txHash,
    verified_via: 'city',
    block_number: Number(sale.blockNumber),
    created_at: isoTime(sale.claimedAt),
    delivery_kind: 'city_ownership',
    license: null,
  };
  const { listing } = await detailOf(thing.id);
  expect(total).toBe(1);
  expect(purchases).toEqual([
    {
      ...row,
      artifact: null,
      artifact_encoding: null,
      artifact_media_type: null,
      artifact_filename: null,
      artifact_salt: null,
      download: null,
      collect: 'delivered',
      world_receipt: listing.world_receipt,
      newer_version: null,
    },
  ]);
  const mine = await ask(followed, endpoints.getMe, getMe, { caller: by, query: {} });
  expect([mine.purchases, mine.purchases_total]).toEqual([[row], 1]);
  const theirs = await ask(followed, endpoints.getMe, getMe, { caller: from, query: {} });
  expect(theirs.sales).toMatchObject([{ listing_id: row.listing_id, buyer: by.handle, verified_via: 'city' }]);
  expect(theirs.merchant).toMatchObject({ sales: 1, listings: 0 });
});

it('who bought one is a verified buyer', async () => {
  const thing = await seedWorldListing(db.database, seller.id);
  await seedWorldSale(db.database, thing.id, { merchantId: buyer.id });
  await db.database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at)
    values (1, ${thing.id}, ${buyer.id}, 'Mine', now()), (2, ${thing.id}, ${seller.id}, 'Thanks', now())`);
  const { comments } = await detailOf(thing.id);
  expect(comments.map(({ verified_buyer }) => verified_buyer)).toEqual([true, false]);
});

it('the resident that a merchant names is in every record of it, and gone when it names none', async () => {
  const merchant = await seedMerchant(db.database, { handle: 'names-a-resident' });
  const records = async () => {
    const { merchants } = await ask(followed, endpoints.listMerchants, makeListMerchants(followed.catalog));
    const visited = await ask(followed, endpoints.getStore, makeGetStore(followed.catalog), {
      params: { handle: merchant.handle },
    });
    const window = await ask(followed, endpoints.getWindow, makeGetWindow(followed.catalog, followed.events));
    const me = await ask(followed, endpoints.getMe, getMe, { caller: merchant });
    const named = [...merchants, ...window.merchants.items].filter(({ handle }) => handle === merchant.handle);
    return [...named, visited.merchant, me.merchant].map(({ city_handle }) => city_handle);
  };
  expect(await records()).toEqual([null, null, null, null]);
  for (const handle of ['resident-one', null]) {
    await db.database.run(sql`update merchants set city_handle = ${handle} where id = ${merchant.id}`);
    expect(await records()).toEqual([handle, handle, handle, handle]);
  }
  const restarted = marketContext({ database: db.database });
  await db.database.run(sql`update merchants set city_handle = 'resident-two' where id = ${merchant.id}`);
  const { merchants } = await ask(restarted, endpoints.listMerchants, makeListMerchants(restarted.catalog));
  expect(merchants.at(-1)).toMatchObject({ handle: merchant.handle, city_handle: 'resident-two' });
});
