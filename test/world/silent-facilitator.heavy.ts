import { expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { PRICE, scriptedTrade } from '../support/trade.ts';

// The facilitator accepts /verify or /settle but never answers, so the real deadline of eight seconds passes.
const { sellerOne } = WORLD_ACCOUNTS;
const { facilitator, world, buyer, goods, wallet, statusOf } = await scriptedTrade({
  // Runs the background job on its own schedule.
  reconcileEveryMs: 200,
});

async function startPurchase() {
  const payer = await wallet();
  const { id, artifact, terms } = await goods();
  return { id, artifact, payer, proof: await signProof(world.chain, payer, terms) };
}

it('that settles and never answers leads to an answer in time, and then, by itself, to the goods', async () => {
  facilitator.script({ verify: 'forward', settle: 'forward_then_hang', to: world.facilitator.url });
  const { id, artifact, payer, proof } = await startPurchase();
  const answer = await world.buy(id, { key: buyer.key, proof: proof.v2 });
  expect([202, 503]).toContain(answer.status);
  expect(answer.body['do_not_pay_again']).toBe(true);
  await world.finalize();
  await expect
    .poll(() => statusOf(proof), { timeout: 20_000 })
    .toMatchObject({ payment_status: 'completed', stage: 'delivered' });
  const delivered = await world.buy(id, { key: buyer.key });
  expect([delivered.status, delivered.body['artifact']]).toEqual([200, artifact]);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
});

it('that never answers verify leads to 503 and the same proof, and nothing was submitted', async () => {
  facilitator.script({ verify: 'hang', settle: 'hang' });
  const { id, payer, proof } = await startPurchase();
  const answer = await world.buy(id, { key: buyer.key, proof: proof.v1 });
  expect([answer.status, answer.body['reason'], answer.body['do_not_pay_again']]).toEqual([
    503,
    'verification_pending',
    true,
  ]);
  expect(answer.body['retry']).toBe('same_proof');
  expect(facilitator.calls.settle).toBe(1);
  expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([]);
});
