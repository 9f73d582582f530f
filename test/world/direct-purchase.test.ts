import { expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { claim, openIntent, payDirectly, signChallenge, transfer } from '../support/direct.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';

const trade = testTrade();
const { world, buyer } = trade;

it('delivers when the transfer of the intent is final, and again whenever it is asked', async () => {
  const { id, artifact } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE });
  const early = await claim(world, buyer, id, paid);
  expect(early).toMatchObject({
    status: 202,
    body: { status: 'payment_pending', do_not_pay_again: true, payment: { stage: 'mined', tx_hash: paid.txHash } },
  });
  await world.finalize();
  const delivered = await claim(world, buyer, id, paid);
  expect(delivered).toMatchObject({
    status: 200,
    body: {
      artifact,
      purchase: { paid_usdc: 2.5, verified_via: 'direct', tx_hash: paid.txHash },
      receipt: { amount_units: PRICE.toString() },
    },
  });
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
  expect(await world.buy(id, { key: buyer.key })).toMatchObject({ status: 200, body: { artifact } });
});

it('takes a tip, and says what was paid', async () => {
  const { id } = await trade.goods();
  const payer = await trade.wallet(2n * PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE + 1n });
  await world.finalize();
  expect(await claim(world, buyer, id, paid)).toMatchObject({
    status: 200,
    body: { purchase: { price_usdc: 2.5, paid_usdc: 2.500001 }, receipt: { amount_usdc: 2.500001 } },
  });
});

it('too little is for the seller to decide on: delivered, refunded or declined', async () => {
  const { id, artifact } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  const paid = await payDirectly(world, { buyer, listingId: id, payer, units: PRICE - 1n });
  await world.finalize();
  const review = await claim(world, buyer, id, paid);
  expect(review).toMatchObject({ status: 422, body: { reason: 'amount_too_little', payment_status: 'needs_review' } });
  const payment = review.body['payment'] as { id: number };
  const decide = (key: string, body: object) => world.ask('POST', `/api/review/${payment.id}`, { key, body });
  expect(await decide(buyer.key, { outcome: 'deliver' })).toMatchObject({ status: 404 });
  expect(await decide(trade.seller.key, { outcome: 'deliver' })).toMatchObject({
    status: 200,
    body: { payment: { payment_status: 'completed' } },
  });
  expect(await claim(world, buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
});

it('refuses a transfer by another wallet than the one that signed, and takes the right signature afterwards', async () => {
  const { id } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  const intent = await openIntent(world, buyer, id);
  const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
  await world.finalize();
  const foreign = await signChallenge(WORLD_ACCOUNTS.buyerOne, intent);
  expect(await claim(world, buyer, id, { intent, txHash, signature: foreign })).toMatchObject({
    status: 422,
    body: { reason: 'wrong_payer' },
  });
  const signature = await signChallenge(payer, intent);
  expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({ status: 200 });
});

it('no refusal of a claim reads as if nothing had been sent', async () => {
  const { id } = await trade.goods();
  const answers = [
    await world.ask('POST', `/api/claim/${id}`, { body: {} }),
    await world.ask('POST', `/api/claim/${id}`, { key: buyer.key, body: { intent_id: 'none' } }),
  ];
  expect(answers.map(({ status, body }) => [status, body['do_not_pay_again']])).toEqual([
    [401, true],
    [400, true],
  ]);
});
