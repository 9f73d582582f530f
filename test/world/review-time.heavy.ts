import { expect, it } from 'vitest';
import { feePayment, openFeeIntent, signChallenge, transfer } from '../support/direct.ts';
import { listGoods, newGoods } from '../support/trade.ts';
import { claimCases } from './review-cases.ts';
import { reviewStage, statusAndReason } from './review-stage.ts';

const stage = await reviewStage();
const DAY = 86_400;
const FEE = 1_000_000n;

const declineOld = () => stage.world.running.payments.declineOld();
const statusOf = async (intentId: string) =>
  (await stage.world.ask('GET', `/api/payment?intent_id=${intentId}`)).body['payment'];

/** Pays a fee by transfer and claims it with these goods. */
async function feeFor(body: Record<string, unknown>, units: bigint) {
  const { world, seller } = stage;
  const payer = await stage.wallet();
  const intent = await openFeeIntent(world, seller);
  const signature = await signChallenge(payer, intent);
  const txHash = await transfer(world, payer, intent.seller_wallet, units);
  await stage.finalize();
  const list = () => listGoods(world, seller, { ...body, fee_payment: feePayment({ intent, txHash, signature }) });
  return { intent, list, answer: await list() };
}

it('ends as declined after 30 days, not before, told without an actor; then the buyer may buy again', async () => {
  const { world, seller } = stage;
  const purchase = await claimCases.amount_too_little(stage);
  const [shown] = await stage.reviewsOf(seller);
  const fee = await feeFor(newGoods(), FEE - 1n);
  const { id: feeId } = fee.answer.body['payment'] as { id: number };
  await stage.time.moveOn(world, 30 * DAY - 600);
  await declineOld();
  expect((await stage.reviewsOf(seller)).map(({ payment_id }) => payment_id)).toEqual([purchase.id]);
  expect(Date.parse(String(shown?.['decide_by'])) - stage.time.clock.now()).toBeLessThan(605_000);
  await stage.time.moveOn(world, 610);
  await declineOld();
  await declineOld();
  const events = await stage.newestEvents(2);
  expect(events.map(({ kind, actor, detail }) => [kind, actor, detail])).toEqual([
    ['review', 'system', { payment_id: feeId, outcome: 'declined' }],
    ['review', 'system', { payment_id: purchase.id, listing_id: Number(purchase.goods.id), outcome: 'declined' }],
  ]);
  for (const intentId of [fee.intent.id, purchase.query.replace('intent_id=', '')]) {
    expect(await statusOf(intentId)).toMatchObject({
      payment_status: 'rejected',
      outcome: 'declined',
      do_not_pay_again: false,
    });
  }
  expect(await stage.reviewsOf(stage.keeper)).toEqual([]);
  const late = await stage.decide(seller, purchase.id, { outcome: 'deliver' });
  expect(statusAndReason(late)).toEqual([409, 'already_decided']);
  expect((await stage.buyAnew(purchase.goods, purchase.buyer)).body['artifact']).toBe(purchase.goods.artifact);
});

it('is decided by the seller or by time, never by both', async () => {
  const { world, seller } = stage;
  const made = [await claimCases.amount_too_little(stage), await claimCases.outside_window(stage)];
  await stage.time.moveOn(world, 30 * DAY + 1);
  const answers = await Promise.all([
    ...made.map(({ id }) => stage.decide(seller, id, { outcome: 'deliver' })),
    ...Array.from({ length: 4 }, declineOld),
  ]);
  for (const [n, { id, query, goods, buyer }] of made.entries()) {
    const isDelivered = answers[n]?.status === 200;
    expect(await statusOf(query.replace('intent_id=', ''))).toMatchObject({
      outcome: isDelivered ? 'deliver' : 'declined',
    });
    expect((await world.buy(goods.id, { key: buyer.key })).status).toBe(isDelivered ? 200 : 402);
    const told = (await stage.newestEvents(10)).filter(
      ({ kind, detail }) => kind === 'review' && (detail as Record<string, unknown>)['payment_id'] === id,
    );
    expect(told).toHaveLength(1);
  }
});

it('a listing paid by transfer is remembered for seven days; after that its fee still names it and pays for nothing else', async () => {
  const { world, seller } = stage;
  const body = newGoods();
  const paid = await feeFor(body, FEE);
  expect(paid.answer.status).toBe(201);
  const id = paid.answer.body['listing_id'];
  await stage.time.moveOn(world, 7 * DAY - 60);
  for (const again of [paid.list, () => listGoods(world, seller, body)]) {
    const answer = await again();
    expect([answer.status, answer.body['listing_id']]).toEqual([200, id]);
  }
  await stage.time.moveOn(world, 61);
  expect(statusAndReason(await listGoods(world, seller, body))).toEqual([402, 'payment_required']);
  const later = await paid.list();
  expect([later.status, later.body['listing_id']]).toEqual([200, id]);
});
