import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, browsePage, idsOf, walkShelves } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { listingDesk } from '../../../test/support/listing-desk.ts';
import { act, eventsOf } from '../../../test/support/listing-life.ts';
import { type SeededMerchant, seedFreePurchase, seedMerchant, seedPaidPurchase } from '../../../test/support/seed.ts';
import { newGoods } from '../../../test/support/trade.ts';
import { endpoints } from '../../contract/index.ts';
import { newListing } from '../../contract/listings.ts';
import { shelfQuery } from '../../contract/shelves.ts';
import type { Refusal } from '../../platform/refusal.ts';
import { getMe } from '../history/get-me.ts';
import { listPurchases } from '../history/purchase-history.ts';
import { deliverGoods } from '../purchases/deliver.ts';
import { editListing } from './changes/edit-listing.ts';

const db = testDatabase();
const desk = listingDesk(db, { startMs: Date.UTC(2026, 0, 20, 12) });
let keeper: SeededMerchant;
let buyer: SeededMerchant;

beforeAll(async () => {
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  buyer = await seedMerchant(db.database);
});

const edit = (id: number, body: Record<string, unknown>) =>
  act(desk.market, endpoints.editListing, editListing, { id: BigInt(id), body, caller: keeper });

async function refusalOf(attempt: Promise<unknown>) {
  const refusal = (await attempt.then(
    () => ({ reason: 'none', options: {} }),
    (error: unknown) => error,
  )) as Refusal;
  return { reason: refusal.reason, errors: refusal.options.errors };
}
const NO_LICENSE = {
  reason: 'invalid_fields',
  errors: [{ path: 'license', message: expect.stringContaining('such as MIT, CC-BY-4.0') }],
};

describe('a new listing', () => {
  it.each([
    'MIT',
    'MIT OR Apache-2.0',
    '(MIT AND CC-BY-4.0) OR GPL-2.0-only WITH Classpath-exception-2.0',
    'GPL-2.0+',
    'LicenseRef-my-terms',
    'other',
  ])('comes under %s, kept as it is spelled', async (license) => {
    const { id, ...listed } = await desk.list(keeper, { license });
    expect(listed.license).toBe(license);
    expect(await db.database.one(sql`select license from listings where id = ${id}`)).toEqual({ license });
  });

  it('says none where none is given', async () => {
    expect(await desk.list(keeper)).toMatchObject({ license: null });
  });

  it.each(['Mit', 'GPL', 'Other', 'MIT OR', 'MIT Apache-2.0', 'NONE', '+', ')('])(
    'is refused with examples where SPDX knows no %s',
    async (license) => {
      expect(await refusalOf(desk.ask(keeper, newGoods({ license })))).toEqual(NO_LICENSE);
    },
  );

  it.each(['', ' MIT', 'MIT ', 'MIT  OR ISC', 'MIT\nOR ISC', '<b>MIT</b>', 'MIT’', null, 7, 'a'.repeat(101)])(
    'of license %j is not one that the contract takes, nor is it a filter',
    (license) => {
      for (const schema of [newListing.pick({ license: true }), shelfQuery]) {
        const { error } = schema.safeParse({ license });
        expect(error?.issues.map(({ path }) => path)).toEqual([['license']]);
      }
    },
  );
});

describe('an edit', () => {
  it('gives another license or none before the first purchase, and the log names the field alone', async () => {
    const { id } = await desk.list(keeper, { license: 'MIT' });
    expect((await edit(id, { preview: 'A closer look' })).listing.license).toBe('MIT');
    expect((await edit(id, { license: 'Apache-2.0' })).listing.license).toBe('Apache-2.0');
    expect(await refusalOf(edit(id, { license: 'Apache' }))).toEqual(NO_LICENSE);
    expect((await edit(id, { license: null })).listing.license).toBeNull();
    const events = await eventsOf(db.database, BigInt(id));
    expect(events.map(({ detail }) => (detail as { fields?: string[] }).fields)).toEqual([
      undefined,
      ['preview'],
      ['license'],
      ['license'],
    ]);
    expect(JSON.stringify(events)).not.toMatch(/MIT|Apache/);
  });

  it.each([0, 2.5])('of goods for %d USDC is refused after a purchase, and so is the statement', async (price_usdc) => {
    const { id } = await desk.list(keeper, { license: 'MIT', price_usdc });
    if (price_usdc === 0) await seedFreePurchase(db.database, BigInt(id), buyer.id);
    else await seedPaidPurchase(db.database, BigInt(id));
    expect(await refusalOf(edit(id, { license: 'ISC' }))).toMatchObject({ reason: 'listing_closed' });
    for (const license of ['ISC', null])
      await expect(
        db.database.run(sql`update listings set license = ${license} where id = ${id}`),
      ).rejects.toMatchObject({ constraint: 'attributes_are_fixed' });
  });
});

it('shelves filter by the whole text, with totals, on every page and after an edit', async () => {
  const { market } = desk;
  await db.database.run(sql`update listings set state = 'withdrawn', withdrawn_at = now()`);
  const put = async (license?: string) => (await desk.list(keeper, { ...(license ? { license } : {}) })).id;
  const [first, , second, third] = [await put('ISC'), await put(), await put('ISC'), await put('ISC OR MIT')];
  const both = await browsePage(market, { license: 'ISC', limit: '1' });
  expect([idsOf(both), both.total, both.has_more]).toEqual([[second], 2, true]);
  expect((await walkShelves(market, { license: 'ISC', limit: '1' })).ids).toEqual([second, first]);
  const elsewhere = { license: 'MIT', limit: '1', cursor: both.next_cursor ?? '' };
  expect(await refusalOf(browsePage(market, elsewhere))).toMatchObject({ reason: 'cursor_invalid' });
  expect(idsOf(await browsePage(market, { license: 'ISC OR MIT' }))).toEqual([third]);
  expect(await browsePage(market, { license: 'MIT' })).toMatchObject({ listings: [], total: 0 });
  expect(await browsePage(market, { license: 'isc' })).toMatchObject({ total: 0 });
  await edit(second ?? 0, { license: null });
  await edit(third ?? 0, { license: 'ISC' });
  await market.catalog.fresh();
  expect(await browsePage(market, { license: 'ISC' })).toMatchObject({ total: 2, returned: 2 });
  expect(idsOf(await browsePage(market, { license: 'ISC', aisle: 'other', sort: 'price_asc' }))).toEqual([
    third,
    first,
  ]);
  expect(await browsePage(market, { license: 'ISC OR MIT' })).toMatchObject({ total: 0 });
});

it('a purchase shows it as it was at the sale, wherever the buyer looks, whatever a newer version says', async () => {
  const { market } = desk;
  const old = await desk.list(keeper, { license: 'MIT' });
  await seedPaidPurchase(db.database, BigInt(old.id), { merchantId: buyer.id });
  await desk.list(keeper, { license: 'LicenseRef-closed', supersedes: old.id });
  const { purchases } = await ask(market, endpoints.listPurchases, listPurchases, { query: {}, caller: buyer });
  expect(purchases[0]).toMatchObject({ listing_id: old.id, license: 'MIT' });
  expect(purchases[0]?.newer_version?.changed).toContain('license');
  const me = await ask(market, endpoints.getMe, getMe, { query: {}, caller: buyer });
  expect(me.purchases[0]).toMatchObject({ listing_id: old.id, license: 'MIT' });
  const { body } = await deliverGoods(market, BigInt(old.id), {
    ...{ purchase: null, collectedBy: null },
    taker: { merchantId: buyer.id },
  });
  expect(body).toMatchObject({ listing_id: old.id, license: 'MIT' });
});

it('an answer of the version before, which has none, is read as one that says none', () => {
  const { license } = endpoints.buyListing.answers[200].shape;
  expect(license.parse(undefined)).toBeNull();
});
