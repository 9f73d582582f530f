import { hashMessage } from 'viem';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { claim, openIntent, type ShownIntent, statusBy, transfer } from '../support/direct.ts';
import type { Member } from '../support/market-world.ts';
import { GAS_WEI, PRICE, signCollecting } from '../support/trade.ts';
import { createSimpleAccount, delegateTo, deployDelegate } from '../support/wallets/accounts-with-code.ts';
import { createSafe } from '../support/wallets/safe.ts';
import { unprovenStage } from './unproven-stage.ts';

const stage = unprovenStage();
const { trade, time } = stage;
const { world, seller } = trade;
let made = 0;

const join = (): Promise<Member> => {
  made += 1;
  return world.join(`buyer-of-reviews-${made}`);
};

/** Pays, with finality, from a wallet that cannot sign. */
async function payUnsigned(
  buyer: Member,
  given: { units?: bigint; account?: Awaited<ReturnType<typeof createSimpleAccount>> } = {},
) {
  const subject = await stage.goods();
  const account = given.account ?? (await createSimpleAccount(world.chain, 10n * PRICE));
  await world.finalize();
  const intent = await subject.open(buyer, account.address);
  const txHash = await account.transfer(intent.seller_wallet, given.units ?? PRICE);
  await world.finalize();
  const signature = await stage.sign(intent);
  const own = () => subject.claim(buyer, { intent, txHash, signature });
  return { subject, account, intent, txHash, signature, own };
}

const openOf = async (txHash: string) =>
  (await stage.reviewsOf(seller)).filter((review) => review['tx_hash'] === txHash);

it('a claim that no wallet signed waits a day, then the payee decides, and nobody is asked to pay again', async () => {
  const buyer = await join();
  const { subject, intent, txHash, own } = await payUnsigned(buyer);
  expect(intent).toMatchObject({ prove_first: true, minimum_amount_units: PRICE.toString() });
  const exact = BigInt(String(intent['exact_amount_units'])) - PRICE;
  expect(exact >= 1n && exact <= 9_999n).toBe(true);
  const early = await own();
  expect(early).toMatchObject({ status: 422, body: { reason: 'signature_invalid', do_not_pay_again: true } });
  expect(Date.parse(String(early.body['review_from']))).toBeGreaterThan(Date.parse(intent.expires_at));
  expect(await openOf(txHash)).toEqual([]);
  expect(await statusBy(world, { intent_id: intent.id })).toMatchObject({ payment_status: 'unsubmitted' });
  await stage.waitADay();
  const first = await own();
  expect(first).toMatchObject({
    status: 422,
    body: { reason: 'payer_unproven', retry: 'never', payment: { tx_hash: txHash, do_not_pay_again: true } },
  });
  expect((await own()).body['payment']).toEqual(first.body['payment']);
  expect(await statusBy(world, { intent_id: intent.id })).toMatchObject({ payment_status: 'needs_review' });
  // The transaction itself belongs to nobody yet.
  expect(await statusBy(world, { tx_hash: txHash })).toMatchObject({ reason: 'payment_not_found' });
  const path = `/api/purchase-intent/${subject.id}`;
  await world.chain.mine();
  expect((await world.ask('POST', path, { key: buyer.key, body: {} })).body).toMatchObject({
    reason: 'payment_undecided',
    intent_id: intent.id,
  });
  expect((await world.buy(subject.id, { key: buyer.key })).body).toMatchObject({
    reason: 'needs_review',
    do_not_pay_again: true,
  });
  // The review does not block the wallet, so another merchant may open an intent for it.
  const other = await join();
  await openIntent(world, other, subject.id, { payer_wallet: intent.payer_wallet });
});

it('given back, the transfer is used up and the buyer may buy again', async () => {
  const buyer = await join();
  const { subject, account, intent, txHash, own } = await payUnsigned(buyer, { units: PRICE + 5n });
  await stage.waitADay();
  const { payment } = (await own()).body as { payment: { id: number } };
  await fund(world.chain, [{ address: WORLD_ACCOUNTS.sellerOne.address, usdcUnits: 3n * PRICE, wei: GAS_WEI }]);
  const little = await transfer(world, WORLD_ACCOUNTS.sellerOne, account.address, PRICE);
  const back = await transfer(world, WORLD_ACCOUNTS.sellerOne, account.address, PRICE + 5n);
  await world.finalize();
  expect(await stage.review(seller, payment.id, { outcome: 'refunded', tx_hash: little })).toMatchObject({
    status: 422,
    body: { reason: 'refund_not_found' },
  });
  const decided = await stage.review(seller, payment.id, { outcome: 'refunded', tx_hash: back });
  expect(decided).toMatchObject({
    status: 200,
    body: { payment: { payment_status: 'rejected', outcome: 'refunded' } },
  });
  expect(await statusBy(world, { tx_hash: txHash })).toMatchObject({ outcome: 'refunded' });
  expect(await own()).toMatchObject({ status: 409, body: { reason: 'transaction_used', do_not_pay_again: false } });
  await openIntent(world, buyer, subject.id, { payer_wallet: intent.payer_wallet });
});

it('declined by the payee, or by nobody in thirty days, it leaves the transfer to who can sign for it', async () => {
  for (const byPayee of [true, false]) {
    const [thief, owner] = [await join(), await join()];
    const subject = await stage.goods();
    const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 2n * PRICE });
    await safe.deploy();
    await world.finalize();
    const foreign = await subject.open(thief, safe.address);
    const intent = await subject.open(owner, safe.address);
    const txHash = await safe.transfer(intent.seller_wallet, PRICE);
    await stage.waitADay();
    const steal = async () => subject.claim(thief, { intent: foreign, txHash, signature: await stage.sign(foreign) });
    const { payment } = (await steal()).body as { payment: { id: number } };
    if (byPayee) {
      expect((await stage.review(seller, payment.id, { outcome: 'declined', note: 'not yours' })).status).toBe(200);
    } else {
      await time.moveOn(world, 30 * 86_400 + 60);
      await world.running.payments.declineOld();
    }
    expect(await openOf(txHash)).toEqual([]);
    expect(await statusBy(world, { intent_id: foreign.id })).toMatchObject({
      payment_status: 'rejected',
      outcome: 'declined',
    });
    await world.running.eventsSettled();
    const events = await world.ask('GET', '/api/events?kind=review&limit=1');
    expect((events.body['events'] as unknown[])[0]).toMatchObject({
      actor: byPayee ? seller.handle : 'system',
      detail: { payment_id: payment.id, outcome: 'declined' },
    });
    expect((await steal()).body['reason']).toBe('transaction_used');
    const signature = await safe.sign(hashMessage(intent.challenge));
    expect(await subject.claim(owner, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact: subject.artifact },
    });
  }
});

describe('no review is opened', () => {
  const isPlain = { status: 422, body: { reason: 'signature_invalid' } };

  it('for a transfer that does not fit, or a wallet that the intent does not name', async () => {
    const buyer = await join();
    const little = await payUnsigned(buyer, { units: PRICE - 1n });
    const { account, subject } = little;
    const unnamed = await openIntent(world, await join(), subject.id);
    const txHash = await account.transfer(unnamed.seller_wallet, PRICE);
    await stage.waitADay();
    expect(await little.own()).toMatchObject(isPlain);
    const signature = `${await stage.sign(unnamed)}00`;
    expect(await claim(world, buyer, subject.id, { intent: unnamed, txHash, signature })).toMatchObject({
      status: 404,
    });
    expect([await openOf(little.txHash), await openOf(txHash)]).toEqual([[], []]);
  });

  it('for an account that delegates: its key can sign', async () => {
    const buyer = await join();
    const subject = await stage.goods();
    const account = await trade.wallet(PRICE, GAS_WEI);
    await delegateTo(world.chain, account, await deployDelegate(world.chain, 'mute'));
    await world.finalize();
    const intent: ShownIntent = await subject.open(buyer, account.address);
    expect([intent['prove_first'], intent['exact_amount_units']]).toEqual([true, undefined]);
    const txHash = await transfer(world, account, intent.seller_wallet, PRICE);
    await stage.waitADay();
    expect(await subject.claim(buyer, { intent, txHash, signature: await stage.sign(intent) })).toMatchObject(isPlain);
    expect(await openOf(txHash)).toEqual([]);
    const own = await account.signer.signMessage({ message: intent.challenge });
    expect((await subject.claim(buyer, { intent, txHash, signature: own })).status).toBe(200);
  });

  it('for more than three at a time of one merchant', async () => {
    const buyer = await join();
    const all = [];
    for (let at = 0; at < 4; at += 1) all.push(await payUnsigned(buyer));
    await stage.waitADay();
    const reasons = [];
    for (const { own } of all) reasons.push((await own()).body['reason']);
    expect(reasons).toEqual([...Array(3).fill('payer_unproven'), 'too_many_unproven']);
    const [first, , , last] = all;
    if (first === undefined || last === undefined) throw new Error('there are four');
    const { id } = await statusBy(world, { intent_id: first.intent.id });
    await stage.review(seller, id, { outcome: 'deliver' });
    expect((await last.own()).body['reason']).toBe('payer_unproven');
  });

  it('by anybody else: a review is the payee’s to decide', async () => {
    const buyer = await join();
    const { own } = await payUnsigned(buyer);
    await stage.waitADay();
    const { payment } = (await own()).body as { payment: { id: number } };
    for (const member of [buyer, trade.keeper]) {
      expect((await stage.review(member, payment.id, { outcome: 'deliver' })).status).toBe(404);
    }
  });
});

it('goods that were delivered by a review are collected by the wallet’s buyer alone', async () => {
  const buyer = await join();
  const { subject, own, account } = await payUnsigned(buyer);
  await stage.waitADay();
  const { payment } = (await own()).body as { payment: { id: number } };
  expect((await stage.review(seller, payment.id, { outcome: 'deliver' })).status).toBe(200);
  expect(await world.buy(subject.id, { key: buyer.key })).toMatchObject({
    status: 200,
    body: { artifact: subject.artifact, receipt: { tx_hash: expect.any(String) } },
  });
  const terms = { payTo: WORLD_ACCOUNTS.sellerOne.address, resource: `${world.url}/api/buy/${subject.id}` };
  const signed = await signCollecting(
    world.chain,
    { id: subject.id, terms },
    { payer: account.address, signer: account.owner },
  );
  expect((await world.buy(subject.id, { proof: signed.v1, body: signed.body })).status).not.toBe(200);
});
