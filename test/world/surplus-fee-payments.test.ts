import { expect, it } from 'vitest';
import { transfer } from '../support/direct.ts';
import { listGoods, newGoods } from '../support/trade.ts';
import { FEE, feeStage, statusAndReason } from './fee-stage.ts';

const stage = feeStage();
const { finalize, list, payFee, merchant, countOf, creditsOf } = stage;

it('a fee paid twice through one intent is reviewed by the maintainer, and can be a credit for other goods', async () => {
  const member = await merchant();
  const paid = await payFee(member);
  await finalize();
  const [first, second] = [newGoods(), newGoods()];
  expect((await list(member, first, paid)).status).toBe(201);
  const again = { ...paid, txHash: await transfer(stage.world, paid.payer, paid.intent.seller_wallet, FEE) };
  await finalize();
  // A claim for goods that are already listed charges nothing and needs no review.
  expect((await list(member, first, again)).status).toBe(200);
  const review = await list(member, second, again);
  expect(review).toMatchObject({
    status: 422,
    body: { reason: 'already_bought', payment_status: 'needs_review', do_not_pay_again: true },
  });
  expect([await countOf('pending_listings', member), await countOf('artifact_guards', member)]).toEqual([0, 1]);
  const { id } = review.body['payment'] as { id: number };
  const body = { outcome: 'deliver' };
  expect((await stage.world.ask('POST', `/api/review/${id}`, { key: member.key, body })).status).toBe(404);
  expect((await stage.world.ask('POST', `/api/review/${id}`, { key: stage.keeper.key, body })).status).toBe(200);
  expect(await creditsOf(member)).toBe(1);
  expect((await listGoods(stage.world, member, second)).status).toBe(201);
  expect([await countOf('fees', member), await countOf('listings', member), await creditsOf(member)]).toEqual([
    2, 2, 0,
  ]);
  expect(statusAndReason(await list(member, newGoods(), again))).toEqual([409, 'transaction_used']);
});

it('two fees of one intent that are too little are two records, and neither keeps the same goods from being paid for', async () => {
  const member = await merchant();
  const goods = newGoods();
  const paid = await payFee(member, { units: FEE - 1n });
  const other = { ...paid, txHash: await transfer(stage.world, paid.payer, paid.intent.seller_wallet, FEE - 2n) };
  for (const claiming of [paid, other]) expect((await list(member, goods, claiming)).status).toBe(202);
  await finalize();
  for (const claiming of [paid, other]) {
    expect(statusAndReason(await list(member, goods, claiming))).toEqual([422, 'amount_too_little']);
  }
  expect(await countOf('payments', member)).toBe(2);
  const { body } = await stage.world.ask('GET', '/api/me', { key: stage.keeper.key });
  const reviews = body['reviews'] as { payment_id: number; received_usdc: number }[];
  expect(reviews.map((one) => one.received_usdc).toSorted()).toEqual([0.999998, 0.999999]);
  for (const { payment_id: id } of reviews) {
    const answer = { key: stage.keeper.key, body: { outcome: 'declined' } };
    expect((await stage.world.ask('POST', `/api/review/${id}`, answer)).status).toBe(200);
  }
  const newPayment = await payFee(member);
  await finalize();
  expect((await list(member, goods, newPayment)).status).toBe(201);
});

it('a fee that is topped up while the maintainer decides is kept, shown to the maintainer, and reviewed by itself after that', async () => {
  const member = await merchant();
  const goods = newGoods();
  const paid = await payFee(member, { units: FEE - 3n });
  await finalize();
  const first = await list(member, goods, paid);
  expect(statusAndReason(first)).toEqual([422, 'amount_too_little']);
  const { id } = first.body['payment'] as { id: number };
  const more = { ...paid, txHash: await transfer(stage.world, paid.payer, paid.intent.seller_wallet, 3n) };
  await finalize();
  expect(await list(member, goods, more)).toMatchObject({
    status: 422,
    body: { reason: 'amount_too_little', tx_hash: more.txHash, payment: { id, tx_hash: paid.txHash } },
  });
  const reviews = async () =>
    (await stage.world.ask('GET', '/api/me', { key: stage.keeper.key })).body['reviews'] as Record<string, unknown>[];
  const further = [{ tx_hash: more.txHash, amount_usdc: 0.000003, claimed: true }];
  expect(await reviews()).toMatchObject([{ payment_id: id, purpose: 'listing_fee', further_transfers: further }]);
  const decision = { key: stage.keeper.key, body: { outcome: 'deliver' } };
  expect((await stage.world.ask('POST', `/api/review/${id}`, decision)).status).toBe(200);
  await stage.world.running.payments.reconcileOnce();
  expect(await reviews()).toMatchObject([{ received_usdc: 0.000003, tx_hash: more.txHash, further_transfers: [] }]);
  expect(await creditsOf(member)).toBe(1);
});
