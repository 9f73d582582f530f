import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ask, browsePage, idsOf, type ShelfGiven, walkShelves } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import {
  hideAllListings,
  type SeededMerchant,
  seedMerchant,
  seedStock,
  seedVote,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { makeGetListing } from '../catalog/get-listing.ts';
import { appealRemoval, decideAppeal } from './appeals.ts';
import { removeListing } from './remove-listing.ts';

// These tests check the catalog in memory; appeals.test.ts checks the database.

const db = testDatabase();
let market: TestMarket;
let keeper: SeededMerchant;
let seller: SeededMerchant;
let ids: bigint[];

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
});

const STOCK = Array.from({ length: 9 }, (_, n) => ({
  title: `A map of place ${n}`,
  aisle: 'data' as const,
  priceUnits: BigInt((n * 7) % 9) * 1_000_000n,
  pinned: n === 2 || n === 4,
  license: n === 4 ? 'CC0-1.0' : null,
}));

beforeEach(async () => {
  await hideAllListings(db.database);
  ids = await seedStock(db.database, seller.id, STOCK);
  await seedVote(db.database, at(5), keeper.id);
});

const at = (index: number): bigint => ids[index] ?? expect.fail();
const get = (id: bigint) =>
  ask(market, endpoints.getListing, makeGetListing(market.catalog), { params: { id: id.toString() } });
const remove = (id: bigint) =>
  act(market, endpoints.removeListing, removeListing, {
    body: { listing_id: Number(id), reason_code: 'policy', reason: 'x' },
    caller: keeper,
  });
const appeal = (id: bigint) =>
  act(market, endpoints.appealRemoval, appealRemoval, {
    body: { listing_id: Number(id), statement: 'It is good' },
    caller: seller,
  });
async function restore(id: bigint): Promise<void> {
  const body = { appeal_id: (await appeal(id)).appeal.id, outcome: 'restored', reason: 'x' } as const;
  await act(market, endpoints.decideAppeal, decideAppeal, { body, caller: keeper });
}
const orderOf = async (query: ShelfGiven) => (await walkShelves(market, { ...query, limit: '2' })).ids;

const QUERIES: ShelfGiven[] = [
  {},
  { sort: 'karma' },
  { sort: 'price_asc' },
  { sort: 'price_desc', aisle: 'data' },
  { q: 'map place' },
  { q: '"place 4"' },
  { license: 'CC0-1.0' },
];

it('a restored listing stands where it stood, in every order, with its pin, its votes and its words', async () => {
  const before = await Promise.all(QUERIES.map(orderOf));
  expect(before[0]).toHaveLength(9);
  const gone = [at(4), at(5), at(8)];
  for (const id of gone) await remove(id);
  for (const [n, query] of QUERIES.entries()) {
    const left = before[n]?.filter((id) => !gone.includes(BigInt(id)));
    expect([query, await orderOf(query)]).toEqual([query, left]);
  }
  for (const id of gone) await restore(id);
  expect(await Promise.all(QUERIES.map(orderOf))).toEqual(before);
});

it('its detail follows each step: removed, appealed, restored, removed again', async () => {
  const id = at(4);
  const { listing: before, artifact } = await get(id);
  await remove(id);
  const gone = await get(id);
  expect(before).toMatchObject({ license: 'CC0-1.0', artifact_media_type: expect.any(String) });
  expect(gone.listing).toMatchObject({ state: 'removed', removed: true, preview: '', appeal: null });
  expect(gone.listing).toMatchObject({ license: null, artifact_media_type: null });
  expect(gone.artifact).toMatch(/^Unavailable/);
  const { appeal: open } = await appeal(id);
  expect((await get(id)).listing).toEqual({ ...gone.listing, appeal: open });
  await restore(id);
  const back = await get(id);
  expect(back.listing).toEqual({ ...before, appeal: expect.objectContaining({ id: open.id, outcome: 'restored' }) });
  expect(back.listing).toMatchObject({ removed: false, removed_at: null, removed_reason: null, state: 'live' });
  expect(back.artifact).toBe(artifact);
  await remove(id);
  expect((await get(id)).listing).toMatchObject({ removed: true, appeal: null });
  // A process that starts now reads the same state.
  const fresh = marketContext({ database: db.database });
  const read = await ask(fresh, endpoints.getListing, makeGetListing(fresh.catalog), { params: { id: id.toString() } });
  expect(read).toEqual(await get(id));
});

it('one that was withdrawn before its removal is on no shelf afterwards, and has its title again', async () => {
  const id = at(3);
  await withdrawListing(db.database, id);
  const { listing: before } = await get(id);
  await remove(id);
  await restore(id);
  expect((await get(id)).listing).toMatchObject({ ...before, appeal: { outcome: 'restored' } });
  expect(await orderOf({})).not.toContain(Number(id));
});

it('a walk that is under way shows no row twice and no more rows than it counted; the next one shows all again', async () => {
  for (const query of QUERIES.slice(0, 5)) {
    await hideAllListings(db.database);
    ids = await seedStock(db.database, seller.id, STOCK);
    await remove(at(1));
    await remove(at(7));
    // Between pages, two listings are restored and another one is removed and restored.
    const acts = [
      () => restore(at(7)),
      () => remove(at(0)),
      async () => {
        await restore(at(0));
        await restore(at(1));
      },
    ];
    const { pages, ids: seen } = await walkShelves(market, { ...query, limit: '2' }, async () => {
      await acts.shift()?.();
    });
    for (const one of acts) await one();
    expect(new Set(seen).size, JSON.stringify(query)).toBe(seen.length);
    expect(seen.length).toBeLessThanOrEqual(pages[0]?.total ?? 0);
    const whole = idsOf(await browsePage(market, { ...query, limit: '9' }));
    expect(whole.toSorted((a, b) => a - b)).toEqual(ids.map(Number));
  }
});
