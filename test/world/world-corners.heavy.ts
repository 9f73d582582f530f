import sql from 'sql-template-tag';
import { describe, expect, it, test } from 'vitest';
import type { OfferOut } from '../../src/contract/world-records.ts';
import { openAttempt } from '../../src/market/payments/paths/x402/store.ts';
import { STALE_AFTER_MS } from '../../src/market/world/sync/listed-offer.ts';
import { isoTime } from '../../src/platform/clock.ts';
import { toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { signAuthorization, usdcAdmin } from '../support/chain.ts';
import { authorizationOf, eventsOf } from '../support/listing-life.ts';
import { SEED_TIME, seedListing } from '../support/seed.ts';
import { GAS_WEI } from '../support/trade.ts';
import type { SeededWorldListing } from '../support/world-listing.ts';
import { type ThingPaid, thingTrade } from './thing-trade.ts';

// Tests further cases of world-sync and world-sale.

const trade = await thingTrade();
const { world, city, seller, spare, thing, show, checkout, pay, claim, bought, sync, rowOf, checkoutState } = trade;
const database = () => world.db.database;
const PENDING = { status: 'claimed', world_state: 'active', do_not_pay_again: true, retry: 'same_request' };
const SOLD = { status: 'completed', world_state: 'sold', do_not_pay_again: true, retry: 'never' };
const inReview = (reason: string) => ({
  ...{ status: 'needs_review', world_state: 'active', review_reason: reason },
  ...{ do_not_pay_again: true, retry: 'never' },
});

/** Returns offer fields in chain time. `reserved` is the second at which the reservation begins. */
const reservedFrom = (reserved: number): Partial<OfferOut> => ({
  reserved_at: isoTime(reserved * 1_000),
  reserved_until: isoTime((reserved + 300) * 1_000),
});

describe('another offer than the one that was listed', () => {
  const others: [string, Partial<OfferOut>, string][] = [
    ['another price', { price_usdc: 3 }, 'price_usdc'],
    ['another seller', { seller: 'eve' }, 'seller'],
    ['another wallet', { seller_wallet: `0x${'1'.repeat(40)}` }, 'seller_wallet'],
    ['another network', { chain_id: 1 }, 'chain_id'],
    ['another price, canceled', { price_usdc: 3, phase: 'canceled' }, 'price_usdc'],
  ];

  test.each(others)('%s: waited for, and then it is stale', async (_name, changes, path) => {
    const lamp = await thing();
    const opened = await checkout(lamp);
    show(lamp, changes);
    expect((await sync(lamp)).body).toMatchObject({ status: 503, reason: 'city_unavailable', errors: [{ path }] });
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase: 'listed' });
    await database().run(sql`
      update world_listings set differs_since = differs_since - make_interval(secs => ${STALE_AFTER_MS / 1_000})
      where listing_id = ${lamp.id}`);
    expect((await sync(lamp)).body).toMatchObject({ status: 'stale', world_state: 'stale', do_not_pay_again: true });
    expect(await checkoutState(opened)).toBe('closed');
    expect(await eventsOf(database(), lamp.id)).toEqual([]);
  });
});

describe('a sale', () => {
  it('is recorded though its checkout had run out', async () => {
    const lamp = await thing();
    const paid = await bought(lamp);
    await database().run(sql`update world_checkouts set state = 'expired' where id = ${paid.checkoutId}`);
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject(SOLD);
    expect(await checkoutState(paid.checkoutId)).toBe('completed');
  });

  it('counts from the first second of the reservation to its last', async () => {
    for (const ahead of [0, 299]) {
      const lamp = await thing();
      const [opened, paid] = [await checkout(lamp), await pay(lamp)];
      await world.finalize();
      // The checkout is as old as the reservation, which may be some minutes.
      await shiftCheckout(lamp, opened, ahead);
      const { id: checkoutId } = await lastCheckout(lamp);
      claim(lamp, paid, checkoutId, reservedFrom(paid.second - ahead));
      expect((await sync(lamp)).body).toMatchObject(SOLD);
    }
  });
});

describe('what the city calls claimed and the chain does not bear out', () => {
  type Broken = (lamp: SeededWorldListing) => Promise<void>;
  const withClaim =
    (change: (paid: ThingPaid) => Partial<OfferOut>, given?: { units?: (price: bigint) => bigint }): Broken =>
    async (lamp) => {
      const units = given?.units?.(lamp.priceUnits) ?? lamp.priceUnits;
      const paid = await bought(lamp, { units });
      claim(lamp, paid, paid.checkoutId, change(paid));
    };
  const stranger = `0x${'5'.repeat(40)}`;

  test.each<[string, Broken, string]>([
    ['one unit too little', withClaim(() => ({}), { units: (price) => price - 1n }), 'amount_too_little'],
    ['paid by another wallet than it says', withClaim(() => ({ buyer_wallet: stranger })), 'wrong_payer'],
    ['paid before the reservation', withClaim(({ second }) => reservedFrom(second + 1)), 'outside_window'],
    [
      'a window of another length',
      withClaim(({ second }) => ({ reserved_until: isoTime((second + 600) * 1_000) })),
      'reservation_mismatch',
    ],
    [
      'a reservation long before the checkout',
      withClaim(({ second }) => reservedFrom(second - 299)),
      'reservation_mismatch',
    ],
    ['bought by another resident', withClaim(() => ({ buyer: 'eve' })), 'checkout_mismatch'],
    ['bought for another merchant', withClaim(() => ({ market_buyer: 'eve' })), 'checkout_mismatch'],
    ['by a checkout that there is not', withClaim(() => ({ market_checkout_id: 99_999 })), 'checkout_mismatch'],
    [
      'by a checkout of another thing',
      async (lamp) => {
        const other = await checkout(await thing());
        const paid = await bought(lamp);
        claim(lamp, paid, other);
      },
      'checkout_mismatch',
    ],
    [
      'by the wallet of another sale',
      async (lamp) => {
        const [paid, foreign] = [await bought(lamp), await pay(await thing())];
        claim(lamp, { ...paid, txHash: foreign.txHash }, paid.checkoutId);
      },
      'transfer_not_found',
    ],
  ])('%s: a review once it is final, preserved for good', async (_name, breakIt, reason) => {
    const lamp = await thing();
    await breakIt(lamp);
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await world.finalize();
    const review = await sync(lamp);
    expect(review.body).toMatchObject(inReview(reason));
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', review_reason: reason, sales: 0n, proofs: 0n });
    const asked = city.asked.length;
    show(lamp, { phase: 'canceled' });
    expect((await sync(lamp)).body).toEqual(review.body);
    expect(city.asked).toHaveLength(asked);
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', review_reason: reason });
    expect(await eventsOf(database(), lamp.id)).toEqual([]);
  });

  it('what was signed for a payment of the market’s own pays for no thing', async () => {
    const lamp = await thing();
    const opened = await checkout(lamp);
    const payer = await trade.wallet(lamp.priceUnits, GAS_WEI);
    const nonce = toHex(systemRandom.bytes(32));
    const validBefore = BigInt(Math.floor(trade.clock.now() / 1_000) + 600);
    const terms = { from: payer.address, to: lamp.wallet, value: lamp.priceUnits, validAfter: 0n, validBefore, nonce };
    await insertPayment(payer.address, nonce, validBefore);
    const { settleAuthorization } = usdcAdmin(world.chain);
    const { transactionHash } = await settleAuthorization(
      payer,
      terms,
      await signAuthorization(world.chain, payer, terms),
    );
    const second = await latestTime();
    claim(lamp, { wallet: payer.address, txHash: transactionHash, second }, opened);
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject(inReview('transaction_used'));
  });

  it('a chain that cannot be read changes nothing', async () => {
    const lamp = await thing();
    await bought(lamp);
    await world.finalize();
    trade.primary.silence(true);
    spare.silence(true);
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await trade.heal();
    expect((await sync(lamp)).body).toMatchObject(SOLD);
  });
});

async function lastCheckout(lamp: SeededWorldListing): Promise<{ id: number }> {
  const row = await database().one<{ id: bigint }>(
    sql`select max(id) as id from world_checkouts where listing_id = ${lamp.id}`,
  );
  return { id: Number(row.id) };
}

/** Replaces the checkout with one that opened `seconds` earlier. */
async function shiftCheckout(lamp: SeededWorldListing, id: number, seconds: number): Promise<void> {
  await database().run(sql`update world_checkouts set state = 'closed' where id = ${id}`);
  await database().run(sql`
    insert into world_checkouts (id, listing_id, merchant_id, city_handle, offer_id, created_at, expires_at)
    select (select max(id) + 1 from world_checkouts), listing_id, merchant_id, city_handle, offer_id,
      created_at - make_interval(secs => ${seconds}), expires_at - make_interval(secs => ${seconds})
    from world_checkouts where id = ${id} and listing_id = ${lamp.id}`);
}

async function latestTime(): Promise<number> {
  const block = (await world.chain.rpc.call('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  return Number(block.timestamp);
}

/** Inserts a payment row, as if a buyer had started to buy goods with that authorization. */
async function insertPayment(payer: `0x${string}`, nonce: `0x${string}`, validBefore: bigint): Promise<void> {
  const goods = await seedListing(database(), seller.id);
  await database().transaction(async (tx) => {
    const row = await openAttempt(
      { config: world.running.market.config, clock: { now: () => SEED_TIME.getTime() } },
      tx,
      {
        ...{ purpose: 'purchase', listingId: goods.id, merchantId: null, bodyHash: null },
        ...{ payee: goods.wallet, valueUnits: 2_500_000n },
        ...{ proof: { authorization: authorizationOf({ from: payer, nonce, validBefore }) } },
        ...{ openedBlock: 1n, deliveryTokenHash: null },
      },
    );
    if (row === null) throw new Error('no row');
  });
}
