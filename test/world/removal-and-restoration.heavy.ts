import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { paidUnits, type SignedProof } from '../support/market-world.ts';
import { PRICE } from '../support/trade.ts';
import { type Goods, reviewStage, statusAndReason } from './review-stage.ts';

// Tests payments made while a listing is removed, and what becomes of them when the removal is reversed.

const stage = await reviewStage();
const { sellerOne, stranger } = WORLD_ACCOUNTS;

/** Files the merchant's appeal and grants it as the maintainer. */
async function restore({ id }: Goods): Promise<void> {
  const { world, seller, keeper } = stage;
  const statement = { listing_id: Number(id), statement: 'It is good' };
  const { status, body } = await world.ask('POST', '/api/appeal', { key: seller.key, body: statement });
  expect(status).toBe(201);
  const appeal = body['appeal'] as { id: number };
  const decision = { appeal_id: appeal.id, outcome: 'restored', reason: 'Looked at again' };
  const decided = await world.ask('POST', '/api/mod/appeal', { key: keeper.key, body: decision });
  expect(decided).toMatchObject({ status: 200, body: { listing: { state: 'live', removed: false } } });
}

/** Starts an x402 payment for which the market submitted the proof but got no usable answer. */
async function settlingPayment() {
  const { world, facilitator } = stage;
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
  const proof = await stage.sign(payer, goods);
  const opened = await world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
  expect(statusAndReason(opened)).toEqual([503, 'settlement_pending']);
  const again = () => world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
  return { goods, buyer, payer, proof, again };
}

/** Lets a stranger submit the authorization in a later second than any earlier block. */
async function mine({ authorization, signature }: SignedProof): Promise<void> {
  await stage.time.moveOn(stage.world, 5);
  await usdcAdmin(stage.world.chain).settleAuthorization(stranger, authorization, signature);
  await stage.time.moveOn(stage.world, 5);
}

async function expectSold({ id }: Goods, sales: number): Promise<void> {
  await stage.world.running.eventsSettled();
  const rows = await stage.world.db.database.rows(sql`select from purchases where listing_id = ${id}`);
  expect(rows).toHaveLength(sales);
}

describe('a payment by x402 that is settling', () => {
  it('in a block before the removal is delivered, though the listing is removed', async () => {
    const { goods, proof, again } = await settlingPayment();
    await mine(proof);
    await stage.remove(goods);
    await stage.finalize();
    // The title is no longer shown to readers.
    const title = 'Removed by the maintainer';
    expect(await again()).toMatchObject({
      status: 200,
      body: { artifact: goods.artifact, title, purchase: { title } },
    });
    const { body } = await stage.world.ask('GET', `/api/listing/${goods.id}`);
    expect(body['listing']).toMatchObject({ state: 'removed', sales: 1, preview: '' });
  });

  it('in a block of the removal is delivered when the listing is restored before that block is final', async () => {
    const { goods, proof, again, payer } = await settlingPayment();
    await stage.remove(goods);
    await mine(proof);
    await stage.world.running.payments.reconcileOnce();
    expect(statusAndReason(await again())).toEqual([202, 'payment_pending']);
    await restore(goods);
    await stage.finalize();
    expect(await again()).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    expect(await paidUnits(stage.world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
    await expectSold(goods, 1);
  });

  it('and is in review by then stays there for the seller, who can deliver', async () => {
    const { goods, proof, again } = await settlingPayment();
    await stage.remove(goods);
    await mine(proof);
    await stage.finalize();
    const review = await again();
    expect(review).toMatchObject({ status: 422, body: { payment: { outcome: 'listing_removed' } } });
    await restore(goods);
    await stage.world.running.payments.reconcileOnce();
    expect(statusAndReason(await again())).toEqual([422, 'needs_review']);
    await expectSold(goods, 0);
    const { id } = review.body['payment'] as { id: number };
    expect((await stage.decide(stage.seller, id, { outcome: 'deliver' })).status).toBe(200);
    expect(await again()).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    await expectSold(goods, 1);
  });

  it('in a block of a removal that was taken back comes before the next one, and is delivered', async () => {
    const { goods, proof, again } = await settlingPayment();
    await stage.remove(goods);
    await mine(proof);
    await restore(goods);
    await stage.remove(goods);
    await stage.finalize();
    expect(await again()).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    // No other buyer gets the goods.
    const other = await stage.person();
    expect(statusAndReason(await stage.world.buy(goods.id, { key: other.key }))).toEqual([404, 'listing_unavailable']);
  });
});

it('a payment by x402 that a removal stopped before it was handed over goes on with the same proof after a restoration', async () => {
  const { world, facilitator } = stage;
  facilitator.script({ verify: 'garbage', settle: 'garbage' });
  const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
  const proof = await stage.sign(payer, goods);
  const buy = () => world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
  expect(statusAndReason(await buy())).toEqual([503, 'verification_pending']);
  await stage.remove(goods);
  facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
  expect(statusAndReason(await buy())).toEqual([404, 'listing_removed']);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([]);
  await restore(goods);
  expect(statusAndReason(await buy())).toEqual([202, 'payment_pending']);
  await stage.finalize();
  expect(await buy()).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});

describe('a claimed transfer', () => {
  it('in a block of the removal is delivered when the listing is restored before that block is final', async () => {
    const { world, time } = stage;
    const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
    const intent = await openIntent(world, buyer, goods.id);
    const signature = await signChallenge(payer, intent);
    await stage.remove(goods);
    await time.moveOn(world, 5);
    const txHash = await transfer(world, payer, sellerOne.address, PRICE);
    const say = () => claim(world, buyer, goods.id, { intent, signature, txHash });
    expect(statusAndReason(await say())).toEqual([202, 'payment_pending']);
    await restore(goods);
    await stage.finalize();
    expect(await say()).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
    await expectSold(goods, 1);
  });

  it('for a restored listing begins and ends as for any other', async () => {
    const { world } = stage;
    const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
    await stage.remove(goods);
    const ask = () => world.ask('POST', `/api/purchase-intent/${goods.id}`, { key: buyer.key, body: {} });
    expect(statusAndReason(await ask())).toEqual([404, 'listing_unavailable']);
    await restore(goods);
    const intent = await openIntent(world, buyer, goods.id);
    const signature = await signChallenge(payer, intent);
    const txHash = await transfer(world, payer, sellerOne.address, PRICE);
    await stage.finalize();
    const answer = await claim(world, buyer, goods.id, { intent, signature, txHash });
    expect(answer).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
  });
});
