import { expect } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Answer } from '../support/market-world.ts';
import type { Reviewed } from './review-cases.ts';
import { type ReviewStage, statusAndReason } from './review-stage.ts';

export const OUTCOMES = ['deliver', 'refunded', 'declined'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const usdc = (units: bigint): number => Number(units) / 1e6;

async function statusOf({ world }: ReviewStage, { query }: Reviewed): Promise<unknown> {
  const { body } = await world.ask('GET', `/api/payment?${query}`);
  return body['payment'];
}

const counted = async ({ world }: ReviewStage, { goods, buyer }: Reviewed) => {
  const me = await world.ask('GET', '/api/purchases', { key: buyer.key });
  const sold = await world.ask('GET', `/api/listing/${goods.id}`);
  const rows = (me.body['purchases'] as { listing_id: number }[]).filter((row) => row.listing_id === Number(goods.id));
  return { purchases: rows.length, sales: (sold.body['listing'] as { sales: number }).sales };
};

/** Checks what each caller sees and may do while the review is undecided: the buyer waits, and only the seller may decide. */
export async function expectUndecided(stage: ReviewStage, made: Reviewed): Promise<void> {
  const { world, seller } = stage;
  const { goods, buyer, payer } = made;
  const repeated = await made.again();
  expect([...statusAndReason(repeated), repeated.body['do_not_pay_again']]).toEqual([...made.undecided, true]);
  expect(repeated.body).toMatchObject({ payment_status: 'needs_review', payment: { id: made.id } });
  expect(await statusOf(stage, made)).toMatchObject({
    id: made.id,
    purpose: 'purchase',
    payment_status: 'needs_review',
    outcome: made.reason,
    do_not_pay_again: true,
  });
  const fresh = await stage.sign(payer, goods);
  const intent = () => world.ask('POST', `/api/purchase-intent/${goods.id}`, { key: buyer.key });
  if (made.isBought) {
    expect((await world.buy(goods.id, { key: buyer.key })).body['artifact']).toBe(goods.artifact);
    expect(statusAndReason(await intent())).toEqual([409, 'purchase_exists']);
  } else {
    const ways = [{ key: buyer.key }, { key: buyer.key, proof: fresh.v2 }, { proof: fresh.v1 }];
    for (const way of [...ways, { key: buyer.key, body: { collect: true } }]) {
      const { status, body } = await world.buy(goods.id, way);
      expect([status, body['reason'], body['do_not_pay_again']]).toEqual([422, 'needs_review', true]);
    }
    const undecided = await intent();
    expect([...statusAndReason(undecided), undecided.body['do_not_pay_again']]).toEqual([
      409,
      'payment_undecided',
      true,
    ]);
  }
  const asked = (await stage.reviewsOf(seller)).filter(({ payment_id: id }) => id === made.id);
  expect(asked).toEqual([
    expect.objectContaining({
      purpose: 'purchase',
      listing_id: Number(goods.id),
      reason: made.reason,
      payer_wallet: checksummed(payer.address),
      payee_wallet: checksummed(WORLD_ACCOUNTS.sellerOne.address),
      asked_usdc: 2.5,
      received_usdc: usdc(made.received),
    }),
  ]);
  for (const other of [buyer, stage.keeper, await stage.person()]) await expectForeign(stage, other, made.id);
}

/** Checks that anyone else gets the same answers as for a review that does not exist. */
async function expectForeign(
  stage: ReviewStage,
  other: Parameters<ReviewStage['decide']>[0],
  id: number,
): Promise<void> {
  const bare = ({ status, body: { request_id: _, ...said } }: Answer) => ({ status, said });
  const foreign = await stage.decide(other, id, { outcome: 'deliver' });
  expect(statusAndReason(foreign)).toEqual([404, 'payment_not_found']);
  expect(bare(foreign)).toEqual(bare(await stage.decide(other, 999_999, { outcome: 'deliver' })));
  expect((await stage.reviewsOf(other)).filter(({ payment_id }) => payment_id === id)).toEqual([]);
}

/** Decides as the seller and checks the consequences. */
export async function expectDecided(stage: ReviewStage, made: Reviewed, outcome: Outcome): Promise<void> {
  const { seller } = stage;
  const before = await counted(stage, made);
  const proof = outcome === 'refunded' ? { tx_hash: await stage.payBack(made.payer, made.received) } : {};
  const decided = await stage.decide(seller, made.id, { outcome, ...proof });
  expect(decided.status, JSON.stringify(decided.body)).toBe(200);
  const status = outcome === 'deliver' ? 'completed' : 'rejected';
  const shown = { id: made.id, payment_status: status, outcome, do_not_pay_again: outcome === 'deliver' };
  expect(decided.body['payment']).toMatchObject(shown);
  expect(await statusOf(stage, made)).toMatchObject(shown);
  const detail = { payment_id: made.id, listing_id: Number(made.goods.id), outcome };
  const [told, sold] = await stage.newestEvents(2);
  expect(told).toMatchObject({ kind: 'review', actor: seller.handle, detail });
  for (const again of OUTCOMES) {
    const late = await stage.decide(seller, made.id, {
      outcome: again,
      ...(again === 'refunded' ? { tx_hash: `0x${'12'.repeat(32)}` } : {}),
    });
    expect(statusAndReason(late)).toEqual([409, 'already_decided']);
  }
  expect((await stage.reviewsOf(seller)).filter(({ payment_id: id }) => id === made.id)).toEqual([]);
  const isSold = outcome === 'deliver' && !made.isBought;
  if (isSold) expect(sold).toMatchObject({ kind: 'sale', actor: made.buyer.handle, detail: { payment_id: made.id } });
  else expect(sold?.['detail']).not.toMatchObject({ payment_id: made.id });
  const after = await counted(stage, made);
  const more = isSold ? 1 : 0;
  expect(after).toEqual({ purchases: before.purchases + more, sales: before.sales + more });
  if (outcome === 'deliver' || made.isBought) await expectDelivered(stage, made);
  else await expectFree(stage, made, outcome);
  if (!made.isBought) return;
  // The buyer has the goods through the other payment, so no answer may say that paying again is safe.
  const again = await made.again();
  const said = [again.status, again.body['do_not_pay_again']];
  expect(said).toEqual(outcome === 'deliver' ? [200, true] : [409, true]);
}

async function expectDelivered(stage: ReviewStage, made: Reviewed): Promise<void> {
  const { goods, buyer } = made;
  const delivered = { status: 200, body: { artifact: goods.artifact } };
  const byKey = await stage.world.buy(goods.id, { key: buyer.key });
  if (made.payerCollects) {
    expect(statusAndReason(byKey)).toEqual([409, 'sign_to_collect']);
    expect(statusAndReason(await made.again())).toEqual([409, 'sign_to_collect']);
    const fresh = await stage.sign(made.payer, goods);
    expect(await stage.world.buy(goods.id, { proof: fresh.v2, body: { collect: true } })).toMatchObject(delivered);
    return;
  }
  expect(byKey).toMatchObject(delivered);
  if (made.isBought) return;
  expect(await made.again()).toMatchObject(delivered);
  await expectListed(stage, made);
}

/** Checks that the buyer's history shows a normal purchase with the amount received. */
async function expectListed({ world }: ReviewStage, { goods, buyer, received, query }: Reviewed): Promise<void> {
  const { body } = await world.ask('GET', '/api/purchases', { key: buyer.key });
  const [row] = body['purchases'] as Record<string, unknown>[];
  const isDirect = query.startsWith('intent_id');
  expect(row).toMatchObject({
    listing_id: Number(goods.id),
    price_usdc: 2.5,
    paid_usdc: usdc(received),
    verified_via: isDirect ? 'direct' : 'x402',
    artifact: goods.artifact,
  });
}

/** Checks that the buyer can start over, and gets the goods once after paying again. */
async function expectFree(stage: ReviewStage, made: Reviewed, outcome: Outcome): Promise<void> {
  const { world } = stage;
  const { goods, buyer } = made;
  const again = await made.again();
  expect(again.status).toBeGreaterThanOrEqual(400);
  expect(again.body).not.toHaveProperty('artifact');
  if (made.isRemoved) {
    expect((await world.buy(goods.id, { key: buyer.key })).status).toBe(404);
    return;
  }
  expect(again.body['do_not_pay_again'], `${outcome}: ${JSON.stringify(again.body)}`).toBe(false);
  expect(again.body['detail']).toContain(`was reviewed, and is ${outcome}`);
  expect(statusAndReason(await world.buy(goods.id, { key: buyer.key }))).toEqual([402, 'payment_required']);
  const bought = await stage.buyAnew(goods, buyer);
  expect(bought.body['artifact']).toBe(goods.artifact);
  expect(await counted(stage, made)).toEqual({ purchases: 1, sales: 1 });
}
