import sql from 'sql-template-tag';
import { describe, expect, it, test } from 'vitest';
import { resumePayments } from '../../src/market/payments/chain/commands.ts';
import { haltPayments } from '../../src/market/payments/chain/store.ts';
import { toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { eventsOf, holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { removeListing, withdrawListing } from '../support/seed.ts';
import type { SeededWorldListing } from '../support/world-listing.ts';
import { BUYING_RESIDENT, thingTrade } from './thing-trade.ts';

const trade = await thingTrade();
const { world, city, seller, buyer, spare, thing, show, checkout, claim, bought, sync, rowOf, checkoutState } = trade;
const database = () => world.db.database;
const PENDING = { status: 'claimed', world_state: 'active', do_not_pay_again: true, retry: 'same_request' };
const SOLD = { status: 'completed', world_state: 'sold', do_not_pay_again: true, retry: 'never' };
const inReview = (reason: string) => ({
  ...{ status: 'needs_review', world_state: 'active', review_reason: reason },
  ...{ do_not_pay_again: true, retry: 'never' },
});

describe('a sale', () => {
  it('is recorded when the transfer is final, once, for twenty who ask at once', async () => {
    const lamp = await thing();
    const idle = await checkoutOfOther(lamp);
    const paid = await bought(lamp, { units: lamp.priceUnits + 5n });
    for (let n = 0; n < 2; n += 1) expect((await sync(lamp)).body).toMatchObject(PENDING);
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase: 'claimed', sales: 0n, proofs: 0n });
    await world.finalize();
    const answers = await Promise.all(Array.from({ length: 20 }, () => sync(lamp)));
    const [first] = answers;
    for (const { status, body } of answers) expect([status, body]).toEqual([200, first?.body]);
    const receipt = { offer_id: Number(lamp.offerId), thing_id: Number(lamp.thingId), city_handle: BUYING_RESIDENT };
    expect(first?.body).toMatchObject({
      ...SOLD,
      purchase: {
        listing_id: Number(lamp.id),
        market_buyer: buyer.handle,
        paid_usdc: 4.000005,
        world_receipt: { ...receipt, thing_url: `${city.url}/thing/${lamp.thingId}`, tx_hash: paid.txHash },
      },
    });
    expect(await rowOf(lamp)).toMatchObject({ state: 'sold', sales: 1n, proofs: 1n });
    expect([await checkoutState(paid.checkoutId), await checkoutState(idle)]).toEqual(['completed', 'closed']);
    expect(await eventsOf(database(), lamp.id)).toEqual([
      {
        kind: 'world_sale',
        actor: buyer.handle,
        detail: {
          ...{ listing_id: Number(lamp.id), merchant_id: Number(seller.id), offer_id: Number(lamp.offerId) },
          ...{ paid_usdc: 4.000005, verified_via: 'city', tx_hash: paid.txHash },
        },
      },
    ]);
  });

  it('is told from the records for ever, with the city away', async () => {
    const lamp = await thing();
    await bought(lamp);
    await world.finalize();
    const sold = await sync(lamp);
    const asked = city.asked.length;
    city.answerAll((to) => to.destroy());
    expect((await sync(lamp)).body).toEqual(sold.body);
    city.answerAll(null);
    expect(city.asked).toHaveLength(asked);
    const purchase = await database().one(sql`
      select merchant_id, verified_via, payment_id, price_units, paid_units from purchases where listing_id = ${lamp.id}`);
    const units = { price_units: lamp.priceUnits, paid_units: lamp.priceUnits };
    expect(purchase).toEqual({ merchant_id: buyer.id, verified_via: 'city', payment_id: null, ...units });
  });

  it('shows as paid to every caller that names its transaction, though the market has no payment of its own', async () => {
    const lamp = await thing();
    const { txHash } = await bought(lamp);
    await world.finalize();
    await sync(lamp);
    expect((await world.ask('GET', `/api/payment?tx_hash=${txHash}`)).body).toMatchObject({
      payment: {
        id: null,
        payment_status: 'completed',
        listing_id: Number(lamp.id),
        tx_hash: txHash,
        do_not_pay_again: true,
      },
    });
  });

  test.each<[string, (id: bigint) => Promise<unknown>, 'withdrawn_at' | 'removed_at']>([
    ['withdrawn', (id) => withdrawListing(database(), id), 'withdrawn_at'],
    ['removed', (id) => removeListing(database(), id), 'removed_at'],
  ])('of what was %s meanwhile is recorded, and stays marked', async (_name, bring, mark) => {
    const lamp = await thing();
    const paid = await bought(lamp);
    await bring(lamp.id);
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject(SOLD);
    const row = await rowOf(lamp);
    expect(row).toMatchObject({ state: 'sold', sales: 1n });
    expect(row[mark]).not.toBeNull();
    expect(await checkoutState(paid.checkoutId)).toBe('completed');
  });
});

describe('what the city calls claimed and the chain does not bear out', () => {
  it('too little: a review once it is final, preserved for good', async () => {
    const lamp = await thing();
    await bought(lamp, { units: lamp.priceUnits - 1n });
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await world.finalize();
    const review = await sync(lamp);
    expect(review.body).toMatchObject(inReview('amount_too_little'));
    expect(await rowOf(lamp)).toMatchObject({
      state: 'live',
      review_reason: 'amount_too_little',
      sales: 0n,
      proofs: 0n,
    });
    const asked = city.asked.length;
    show(lamp, { phase: 'canceled' });
    expect((await sync(lamp)).body).toEqual(review.body);
    expect(city.asked).toHaveLength(asked);
    expect(await eventsOf(database(), lamp.id)).toEqual([]);
  });

  it('one transfer for two things sells one of them', async () => {
    const lamp = await thing();
    const vase = await thing({ wallet: lamp.wallet });
    const paid = await bought(lamp);
    const opened = await checkout(vase);
    claim(vase, paid, opened);
    await world.finalize();
    const statuses = (await Promise.all([sync(lamp), sync(vase)])).map(({ body }) => body['status']);
    expect(statuses.sort()).toEqual(['completed', 'needs_review']);
    const rows = [await rowOf(lamp), await rowOf(vase)];
    expect(rows.map(({ sales }) => sales).sort()).toEqual([0n, 1n]);
    expect(rows.map(({ proofs }) => proofs).sort()).toEqual([0n, 1n]);
    expect(rows.map(({ review_reason: reason }) => reason)).toContain('transaction_used');
  });
});

describe('while it cannot be known', () => {
  it('a transaction that no provider shows is waited for, however long', async () => {
    const lamp = await thing();
    const paid = await bought(lamp);
    claim(lamp, { ...paid, txHash: toHex(systemRandom.bytes(32)) }, paid.checkoutId);
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    claim(lamp, paid, paid.checkoutId);
    expect((await sync(lamp)).body).toMatchObject(SOLD);
  });

  it('a second provider that does not bear it out holds it up, and no longer than that', async () => {
    const lamp = await thing();
    await bought(lamp);
    await world.finalize();
    spare.twist((result, { method }) => (method === 'eth_getTransactionReceipt' ? null : result));
    expect((await sync(lamp)).body).toMatchObject(PENDING);
    await trade.heal();
    expect((await sync(lamp)).body).toMatchObject(SOLD);
  });

  it('a claim that does not say by whom is none', async () => {
    const lamp = await thing();
    const paid = await bought(lamp);
    claim(lamp, paid, paid.checkoutId, { buyer_wallet: null });
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject({ status: 503, reason: 'city_unavailable', do_not_pay_again: true });
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase: 'listed', review_reason: null });
  });

  it('nothing is sold while payments are halted, not even what was read before', async () => {
    const lamp = await thing();
    await bought(lamp);
    await world.finalize();
    const held = await holdTransactionOpen(database(), (tx) =>
      tx.run(sql`select from listings where id = ${lamp.id} for update`),
    );
    const early = sync(lamp);
    await untilWaiting(database());
    const now = new Date(trade.clock.now());
    await haltPayments(database(), { chainId: 8453n, reason: 'finalized_conflict', detail: 'a test', now });
    await held.commit();
    for (const asked of [early, sync(lamp)]) expect((await asked).body).toMatchObject(PENDING);
    await resumePayments(world.running.market, 'it was a test');
    expect((await sync(lamp)).body).toMatchObject(SOLD);
  });

  it('is judged once more with the listing held: what ended it meanwhile stays', async () => {
    const lamp = await thing();
    await bought(lamp);
    await world.finalize();
    const held = await holdTransactionOpen(database(), (tx) =>
      tx.run(sql`update listings set state = 'canceled' where id = ${lamp.id}`),
    );
    const asked = sync(lamp);
    await untilWaiting(database());
    await held.commit();
    expect((await asked).body).toMatchObject({ status: 'canceled' });
    expect(await rowOf(lamp)).toMatchObject({ state: 'canceled', sales: 0n, proofs: 0n });
  });
});

/** Opens a checkout of another merchant, to whom the resident was linked earlier. */
async function checkoutOfOther(lamp: SeededWorldListing): Promise<number> {
  const other = await world.join('the-other');
  await world.ask('POST', '/api/city-link', { key: other.key, body: { city_handle: BUYING_RESIDENT } });
  city.showResident(BUYING_RESIDENT, other.handle);
  const opened = await checkout(lamp, other);
  city.showResident(BUYING_RESIDENT, buyer.handle);
  return opened;
}
