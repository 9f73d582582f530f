import { hashMessage } from 'viem';
import { expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { statusBy, transfer } from '../support/direct.ts';
import type { Member } from '../support/market-world.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';
import { createSafe } from '../support/wallets/safe.ts';
import { someHash } from './direct-cases.ts';
import { unprovenStage } from './unproven-stage.ts';

const stage = unprovenStage();
const { trade } = stage;
const { world, seller } = trade;
let made = 0;

const join = (): Promise<Member> => {
  made += 1;
  return world.join(`owner-${made}`);
};

/** A Safe pays twice for its intent. The first transfer waits for the payee, because its claim had no valid signature. */
async function payTwice() {
  const goods = await stage.goods();
  const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 4n * PRICE });
  await safe.deploy();
  await world.finalize();
  const owner = await join();
  const intent = await goods.open(owner, safe.address);
  const first = await safe.transfer(intent.seller_wallet, PRICE);
  const second = await safe.transfer(intent.seller_wallet, PRICE);
  await stage.waitADay();
  const signature = await safe.sign(hashMessage(intent.challenge));
  const unsigned = async (txHash: string) =>
    goods.claim(owner, { intent, txHash, signature: await stage.sign(intent) });
  const signed = (txHash: string) => goods.claim(owner, { intent, txHash, signature });
  const { body } = await unsigned(first);
  expect(body).toMatchObject({ reason: 'payer_unproven' });
  const { id } = body['payment'] as { id: number };
  const status = () => statusBy(world, { intent_id: intent.id });
  return { goods, safe, owner, intent, first, second, id, unsigned, signed, status };
}

it('a claim that ends unpaid hides neither the one that waits for the payee nor what was delivered', async () => {
  const { goods, owner, intent, first, id, signed, status } = await payTwice();
  expect((await signed(someHash())).body).toMatchObject({ reason: 'transfer_not_found' });
  expect(await status()).toMatchObject({ id, payment_status: 'needs_review', do_not_pay_again: true });
  const asked = { intent_id: intent.id, payer_signature: `0x${'11'.repeat(65)}` };
  expect((await world.ask('POST', `/api/claim/${goods.id}`, { key: owner.key, body: asked })).body).toMatchObject({
    ...{ reason: 'payment_undecided', payment: { id } },
  });
  expect((await stage.review(seller, id, { outcome: 'deliver' })).status).toBe(200);
  expect(await status()).toMatchObject({ id, payment_status: 'completed', do_not_pay_again: true });
  expect(await signed(first)).toMatchObject({ status: 200, body: { artifact: goods.artifact } });
});

it('a fee that waits for the maintainer is not paid a second time', async () => {
  const fee = await stage.fee();
  const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 4n * fee.units });
  await safe.deploy();
  await world.finalize();
  const owner = await join();
  const intent = await fee.open(owner, safe.address);
  const txHash = await safe.transfer(intent.seller_wallet, fee.units);
  await stage.waitADay();
  const unsigned = async () => fee.claim(owner, { intent, txHash, signature: await stage.sign(intent) });
  const { body } = await unsigned();
  expect(body).toMatchObject({ reason: 'payer_unproven' });
  const { payment } = body as { payment: { id: number } };
  await world.chain.mine();
  const open = (asked: object) => world.ask('POST', '/api/fee-intent', { key: owner.key, body: asked });
  const signature = await safe.sign(hashMessage(intent.challenge));
  for (const asked of [{}, { intent_id: intent.id, payer_signature: signature }]) {
    expect(await open(asked)).toMatchObject({
      status: 409,
      body: { reason: 'payment_undecided', do_not_pay_again: true, payment: { id: payment.id }, intent_id: intent.id },
    });
  }
  // With `pay_anew` the owner gets a second intent, which is meant for another listing. If the owner uses it for this listing anyway, its
  // transfer is not examined.
  const other = (await open({ pay_anew: true })).body['fee_intent'] as typeof intent;
  const another = someHash();
  expect(await fee.claim(owner, { intent: other, txHash: another, signature: await stage.sign(other) })).toMatchObject({
    status: 422,
    body: { reason: 'needs_review', do_not_pay_again: true, tx_hash: another, payment: { id: payment.id } },
  });
  expect((await unsigned()).body).toMatchObject({ reason: 'payer_unproven' });
  const answer = await fee.claim(owner, { intent, txHash, signature });
  expect([answer.status, fee.isTaken(answer)]).toEqual([201, true]);
});

it.each(['superseded', 'proven'] as const)(
  'a claim that ended as %s says that the payee has the money',
  async (end) => {
    const goods = await stage.goods();
    const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 2n * PRICE });
    await safe.deploy();
    await world.finalize();
    const [owner, rival] = [await join(), await join()];
    const intent = await goods.open(owner, safe.address);
    const foreign = await goods.open(rival, safe.address);
    const txHash = await safe.transfer(intent.seller_wallet, PRICE);
    await stage.waitADay();
    const own = async () => goods.claim(owner, { intent, txHash, signature: await stage.sign(intent) });
    expect((await own()).body).toMatchObject({ reason: 'payer_unproven' });
    if (end === 'proven') {
      const signature = await safe.sign(hashMessage(foreign.challenge));
      expect(goods.isTaken(await goods.claim(rival, { intent: foreign, txHash, signature }))).toBe(true);
    } else {
      const steal = await goods.claim(rival, { intent: foreign, txHash, signature: await stage.sign(foreign) });
      const { payment } = steal.body as { payment: { id: number } };
      expect((await stage.review(seller, payment.id, { outcome: 'deliver' })).status).toBe(200);
    }
    const said = await statusBy(world, { intent_id: intent.id });
    expect(said).toMatchObject({ payment_status: 'rejected', outcome: end, do_not_pay_again: true });
    expect(said['next_step']).not.toContain('may be made');
    expect(await own()).toMatchObject({ status: 409, body: { reason: 'transaction_used', do_not_pay_again: true } });
    expect(await statusBy(world, { tx_hash: txHash })).toMatchObject({ payment_status: 'completed' });
  },
);

it('an unsigned claim of another transaction waits for the decision, and is refused for good after that', async () => {
  const { goods, second, id, unsigned, signed } = await payTwice();
  expect((await unsigned(second)).body).toMatchObject({ reason: 'payment_undecided', retry: 'same_request' });
  expect((await stage.review(seller, id, { outcome: 'declined' })).status).toBe(200);
  const { body } = await unsigned(second);
  expect(body).toMatchObject({ reason: 'signature_invalid', retry: 'after_fix', do_not_pay_again: true });
  expect(body['detail']).toContain('declined');
  expect(goods.isTaken(await signed(second))).toBe(true);
});

it.each(['refunded', 'deliver'] as const)(
  'of two transfers the signed one pays, and the other ends as %s',
  async (outcome) => {
    const { goods, safe, first, second, id, signed, status } = await payTwice();
    expect(goods.isTaken(await signed(second))).toBe(true);
    await fund(world.chain, [{ address: WORLD_ACCOUNTS.sellerOne.address, usdcUnits: PRICE, wei: GAS_WEI }]);
    const back = await transfer(world, WORLD_ACCOUNTS.sellerOne, safe.address, PRICE);
    await world.finalize();
    const decision = outcome === 'refunded' ? { outcome, tx_hash: back } : { outcome };
    const payment_status = outcome === 'refunded' ? 'rejected' : 'completed';
    expect(await stage.review(seller, id, decision)).toMatchObject({
      status: 200,
      body: { payment: { id, payment_status, outcome, tx_hash: first } },
    });
    expect(await status()).toMatchObject({ payment_status: 'completed', tx_hash: second });
    expect(await statusBy(world, { tx_hash: first })).toMatchObject({ id, payment_status });
    expect(goods.isTaken(await signed(second))).toBe(true);
  },
);

it('of two transfers for a fee the signed one lists, and the other can be given back', async () => {
  const fee = await stage.fee();
  const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 4n * fee.units });
  await safe.deploy();
  await world.finalize();
  const owner = await join();
  const intent = await fee.open(owner, safe.address);
  const first = await safe.transfer(intent.seller_wallet, fee.units);
  const second = await safe.transfer(intent.seller_wallet, fee.units);
  await stage.waitADay();
  const unsigned = await fee.claim(owner, { intent, txHash: first, signature: await stage.sign(intent) });
  const { payment } = unsigned.body as { payment: { id: number } };
  const signature = await safe.sign(hashMessage(intent.challenge));
  expect(fee.isTaken(await fee.claim(owner, { intent, txHash: second, signature }))).toBe(true);
  await fund(world.chain, [{ address: WORLD_ACCOUNTS.treasury.address, usdcUnits: fee.units, wei: GAS_WEI }]);
  const back = await transfer(world, WORLD_ACCOUNTS.treasury, safe.address, fee.units);
  await world.finalize();
  expect(await stage.review(fee.decider, payment.id, { outcome: 'refunded', tx_hash: back })).toMatchObject({
    status: 200,
    body: { payment: { payment_status: 'rejected', outcome: 'refunded' } },
  });
});
