import sql from 'sql-template-tag';
import { afterAll, beforeEach, describe, expect, it, test } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import {
  marketContext,
  type SettableClock,
  settableClock,
  type TestMarket,
} from '../../../test/support/market-context.ts';
import { offerPath, offerRecord, sendJson, startScriptedCity } from '../../../test/support/scripted-city.ts';
import {
  removeListing,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  withdrawListing,
} from '../../../test/support/seed.ts';
import { type SeededWorldListing, seedWorldListing } from '../../../test/support/world-listing.ts';
import { endpoints } from '../../contract/index.ts';
import { OFFER_PHASES, type OfferOut } from '../../contract/world-records.ts';
import type { MarketCall } from '../context.ts';
import { checkoutWorld, getWorldCheckout } from './checkout-world.ts';

const MINUTE = 60_000;
const city = await startScriptedCity();
afterAll(() => city.close());
const db = testDatabase();
let clock: SettableClock;
let market: TestMarket;
let seller: SeededMerchant;
let buyer: SeededMerchant;
let listing: SeededWorldListing;

beforeEach(async () => {
  clock = settableClock(Date.UTC(2026, 5, 1));
  const plain = marketContext({ database: db.database, clock });
  market = { ...plain, config: { ...plain.config, cityUrl: city.url } };
  seller = await seedMerchant(db.database);
  buyer = await seedLinked('bob');
  listing = await seedWorldListing(db.database, seller.id, { origin: city.url });
  show();
  city.answerAll(null);
});

/** Seeds a merchant and a resident who name each other. */
async function seedLinked(handle: string): Promise<SeededMerchant> {
  const merchant = await seedMerchant(db.database);
  await db.database.run(sql`update merchants set city_handle = ${handle} where id = ${merchant.id}`);
  city.showResident(handle, merchant.handle);
  return merchant;
}

function show(changes: Partial<OfferOut> = {}): void {
  city.showOffer(offerRecord(city, listing, { marketOrigin: market.config.baseUrl, changes }));
}

async function open(given: { id?: bigint; handle?: string; caller?: SeededMerchant } = {}) {
  const { id = listing.id, handle = 'bob', caller = buyer } = given;
  const call = {
    params: endpoints.checkoutWorld.params.parse({ listing_id: id.toString() }),
    body: endpoints.checkoutWorld.body.parse({ city_handle: handle }),
    caller: { ...caller, maintainer: false, keyId: 1n },
  };
  const { status, body } = await checkoutWorld(market, call as MarketCall<typeof endpoints.checkoutWorld>);
  if (!('checkout' in body)) throw new Error('no checkout');
  return { status, checkout: body.checkout };
}

async function read(id: number) {
  const call = { params: { id: BigInt(id) }, caller: null };
  const { body } = await getWorldCheckout(market, call as unknown as MarketCall<typeof endpoints.getWorldCheckout>);
  return endpoints.getWorldCheckout.answers[200].parse(body).checkout;
}

const count = async (): Promise<number> =>
  Number(
    (
      await db.database.one<{ n: bigint }>(
        sql`select count(*) as n from world_checkouts where listing_id = ${listing.id}`,
      )
    ).n,
  );

describe('a checkout', () => {
  it('is open for ten minutes, public, and the same when it is asked for again', async () => {
    const { status, checkout } = await open({ handle: ' @Bob' });
    expect(status).toBe(201);
    expect(checkout).toEqual({
      id: checkout.id,
      listing_id: Number(listing.id),
      market_buyer: buyer.handle,
      city_handle: 'bob',
      city_offer_id: Number(listing.offerId),
      state: 'open',
      created_at: '2026-06-01T00:00:00.000Z',
      expires_at: '2026-06-01T00:10:00.000Z',
    });
    expect(await read(checkout.id)).toEqual(checkout);
    clock.set(clock.now() + 10 * MINUTE - 1);
    const asked = city.asked.length;
    expect(await open()).toEqual({ status: 200, checkout });
    expect(city.asked).toHaveLength(asked);
  });

  it('expires by its time, also before its state is stored, and makes room for another', async () => {
    const { checkout } = await open();
    clock.set(clock.now() + 10 * MINUTE);
    expect(await read(checkout.id)).toEqual({ ...checkout, state: 'expired' });
    const again = await open();
    expect(again).toMatchObject({ status: 201, checkout: { state: 'open' } });
    expect(again.checkout.id).toBeGreaterThan(checkout.id);
    expect(await read(checkout.id)).toEqual({ ...checkout, state: 'expired' });
  });

  it('is one for twenty who ask at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => open()));
    expect(new Set(all.map(({ checkout }) => checkout.id)).size).toBe(1);
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(await count()).toBe(1);
  });

  it('is each merchant’s own', async () => {
    const other = await seedLinked('eve');
    const [one, two] = await Promise.all([open(), open({ handle: 'eve', caller: other })]);
    expect(one.checkout.id).not.toBe(two.checkout.id);
    expect(two.checkout).toMatchObject({ market_buyer: other.handle, city_handle: 'eve' });
  });

  it('goes on being answered when the link has ended and the city is away', async () => {
    const { checkout } = await open();
    await db.database.run(sql`update merchants set city_handle = null where id = ${buyer.id}`);
    city.answerAll((to) => to.destroy());
    expect(await open()).toEqual({ status: 200, checkout });
  });

  test.each(OFFER_PHASES)('of an offer that is %s', async (phase) => {
    show({ phase });
    const isOpen = phase === 'listed' || phase === 'reserved';
    expect(await reasonOf(open())).toBe(isOpen ? 'none' : 'offer_not_open');
    expect(await count()).toBe(isOpen ? 1 : 0);
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['of no listing', () => open({ id: 99_999n }), 'not_found'],
    [
      'of goods that are no thing',
      async () => open({ id: (await seedListing(db.database, seller.id)).id }),
      'not_world_listing',
    ],
    ['by the seller', () => open({ caller: seller }), 'own_goods'],
    ['for the resident who sells', () => open({ handle: 'resident-one' }), 'own_goods'],
    ['for another resident than the one linked', () => open({ handle: 'eve' }), 'link_missing'],
    ['without a link', async () => open({ caller: await seedMerchant(db.database) }), 'link_missing'],
  ])('%s is refused', async (_name, act, reason) => {
    expect(await reasonOf(act())).toBe(reason);
    expect(await count()).toBe(0);
  });

  it('needs the resident to name the merchant still', async () => {
    city.showResident('bob', 'another-merchant');
    expect(await reasonOf(open())).toBe('link_missing');
  });

  test.each<[string, (id: bigint) => Promise<unknown>]>([
    ['withdrawn', (id) => withdrawListing(db.database, id)],
    [
      'removed',
      async (id) => {
        await seedMerchant(db.database);
        await removeListing(db.database, id);
      },
    ],
    ['canceled', (id) => db.database.run(sql`update listings set state = 'canceled' where id = ${id}`)],
    ['stale', (id) => db.database.run(sql`update listings set state = 'stale' where id = ${id}`)],
  ])('of what is %s is refused', async (_name, bring) => {
    await bring(listing.id);
    expect(await reasonOf(open())).toBe('listing_unavailable');
  });

  it('waits for a withdrawal that is just being made, and is refused by it', async () => {
    const held = await holdTransactionOpen(db.database, (tx) =>
      tx.run(sql`update listings set state = 'withdrawn', withdrawn_at = now() where id = ${listing.id}`),
    );
    const asked = reasonOf(open());
    await untilWaiting(db.database);
    await held.commit();
    expect(await asked).toBe('listing_unavailable');
    expect(await count()).toBe(0);
  });

  it('names what the city says otherwise', async () => {
    show({ price_usdc: 3, seller: 'eve' });
    await expect(open()).rejects.toMatchObject({
      reason: 'offer_mismatch',
      options: { errors: [{ path: 'seller' }, { path: 'price_usdc' }] },
    });
    city.answer(offerPath(listing.offerId), null);
    await expect(open()).rejects.toMatchObject({ reason: 'offer_mismatch', options: { errors: [{ path: 'id' }] } });
  });

  it('of what is preserved for a review is refused, whatever the city says now', async () => {
    await db.database.run(sql`
      update world_listings set review_reason = 'wrong_payer', review_tx_hash = ${Buffer.alloc(32, 1)}, reviewed_at = now()
      where listing_id = ${listing.id}`);
    expect(await reasonOf(open())).toBe('offer_not_open');
  });
});

describe('with a city that cannot be read', () => {
  const away = () => city.answerAll((to) => sendJson(to, 500, {}));

  it('nothing is opened, and only a buyer who had a checkout is told not to pay', async () => {
    away();
    const refused = await open().catch((error) => error);
    expect(refused).toMatchObject({ reason: 'city_unavailable' });
    expect(refused.options.doNotPayAgain).toBeUndefined();
    expect(await count()).toBe(0);
  });

  it('who had one before may have paid', async () => {
    await open();
    clock.set(clock.now() + 10 * MINUTE);
    away();
    await expect(open()).rejects.toMatchObject({ reason: 'city_unavailable', options: { doNotPayAgain: true } });
  });

  it('nor with another city than the one it was listed of', async () => {
    const moved = await seedWorldListing(db.database, seller.id, { origin: 'https://old.example' });
    expect(await reasonOf(open({ id: moved.id }))).toBe('city_unavailable');
  });
});

it('a checkout that there is not is 404, and a market without a city says so first', async () => {
  expect(await reasonOf(read(99_999))).toBe('not_found');
  market = { ...market, config: { ...market.config, cityUrl: null } };
  expect(await reasonOf(read(99_999))).toBe('world_closed');
  expect(await reasonOf(open())).toBe('world_closed');
});
