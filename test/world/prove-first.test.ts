import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { countRows } from '../support/database.ts';
import {
  claim,
  createWorldTime,
  openFeeIntent,
  openIntent,
  type ShownIntent,
  signChallenge,
  transfer,
} from '../support/direct.ts';
import type { Answer } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { createContractWallet } from './contract-wallet.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock });
const { world, buyer, seller } = trade;
const { stranger, sellerOne } = WORLD_ACCOUNTS;

interface Shown {
  intent: ShownIntent;
  signature: string;
}

const bodyOf = ({ intent, signature }: Shown) => ({ intent_id: intent.id, payer_signature: signature });
const atIntent = (id: bigint, shown: Shown, { key } = buyer): Promise<Answer> =>
  world.ask('POST', `/api/purchase-intent/${id}`, { key, body: bodyOf(shown) });
const atClaim = (id: bigint, shown: Shown, { key } = buyer): Promise<Answer> =>
  world.ask('POST', `/api/claim/${id}`, { key, body: bodyOf(shown) });

/** Checks the signature at both endpoints and verifies that no row was written. */
async function checkSignature(id: bigint, shown: Shown): Promise<unknown> {
  const before = await countRows(world.db.database);
  const intent = await atIntent(id, shown);
  const alone = await atClaim(id, shown);
  expect(await countRows(world.db.database)).toEqual(before);
  expect([intent.status, alone.status]).toEqual([200, 200]);
  expect(intent.body['purchase_intent']).toMatchObject({ id: shown.intent.id, challenge: shown.intent.challenge });
  expect(alone.body).toMatchObject({ intent_id: shown.intent.id, do_not_pay_again: false });
  expect(intent.body['signature_checked']).toBe(alone.body['signature_checked']);
  return alone.body['signature_checked'];
}

describe('before any money moves', () => {
  it('the signature of a named key is judged, and the transfer that follows is delivered', async () => {
    const { id, artifact } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const opened = await world.ask('POST', `/api/purchase-intent/${id}`, {
      key: buyer.key,
      body: { payer_wallet: payer.address },
    });
    expect(opened.body['signature_checked']).toBe(null);
    const intent = opened.body['purchase_intent'] as ShownIntent;
    expect([intent['prove_first'], intent['exact_amount_units']]).toEqual([undefined, undefined]);
    expect(await checkSignature(id, { intent, signature: await signChallenge(stranger, intent) })).toBe(false);
    const signature = await signChallenge(payer, intent);
    expect(await checkSignature(id, { intent, signature })).toBe(true);
    const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
    await world.finalize();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact },
    });
  });

  it('a wallet with code is told to have its signature checked first, and the check says whether it will do', async () => {
    const { id, artifact } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    await wallet.deploy();
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    expect(intent).toMatchObject({ prove_first: true, next: expect.stringContaining('before any money moves') });
    const foreign = { intent, signature: await signChallenge(stranger, intent) };
    expect(await checkSignature(id, foreign)).toBe(false);
    expect((await atClaim(id, foreign)).body['next_step']).toContain('Do not pay from it');
    const signature = await signChallenge(wallet.owner, intent);
    expect(await checkSignature(id, { intent, signature })).toBe(true);
    const txHash = await wallet.transfer({ to: intent.seller_wallet, units: PRICE });
    await world.finalize();
    expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
      status: 200,
      body: { artifact },
    });
  });

  it('one that is not deployed cannot be asked', async () => {
    const { id } = await trade.goods();
    const wallet = await createContractWallet(world.chain, PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: wallet.address });
    const shown = { intent, signature: await signChallenge(wallet.owner, intent) };
    expect(await checkSignature(id, shown)).toBe(false);
    expect((await atClaim(id, shown)).body['next_step']).toContain('deploy it first');
    await wallet.deploy();
    expect(await checkSignature(id, shown)).toBe(true);
  });

  it('the wallet that signed is named where the intent names none, and a seller is no buyer of its own goods', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(PRICE);
    const intent = await openIntent(world, buyer, id);
    const shown = { intent, signature: await signChallenge(payer, intent) };
    expect(await checkSignature(id, shown)).toBe(true);
    expect(String((await atClaim(id, shown)).body['signer']).toLowerCase()).toBe(payer.address);
    expect(await checkSignature(id, { intent, signature: '0x00' })).toBe(false);
    const own = { intent, signature: await signChallenge(sellerOne, intent) };
    for (const answer of [await atIntent(id, own), await atClaim(id, own)])
      expect(answer).toMatchObject({ status: 403, body: { reason: 'own_goods' } });
  });

  it('an intent with under five minutes left is replaced, for the same wallet', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(PRICE);
    const intent = await openIntent(world, buyer, id, { payer_wallet: payer.address });
    const shown = { intent, signature: await signChallenge(payer, intent) };
    await time.moveOn(world, 301);
    expect((await atClaim(id, shown)).body).toMatchObject({
      signature_checked: true,
      next_step: expect.stringContaining('open another'),
    });
    const replaced = await atIntent(id, shown);
    expect(replaced).toMatchObject({
      status: 201,
      body: { signature_checked: null, purchase_intent: { payer_wallet: intent.payer_wallet } },
    });
    expect((replaced.body['purchase_intent'] as ShownIntent).id).not.toBe(intent.id);
  });
});

describe('what is paid or under way', () => {
  it('is the answer in place of a judgement, so that nobody pays twice', async () => {
    const { id, artifact } = await trade.goods();
    const payer = await trade.wallet(PRICE, GAS_WEI);
    const intent = await openIntent(world, buyer, id, { payer_wallet: payer.address });
    const shown = { intent, signature: await signChallenge(payer, intent) };
    const txHash = await transfer(world, payer, intent.seller_wallet, PRICE);
    expect((await claim(world, buyer, id, { ...shown, txHash })).status).toBe(202);
    for (const answer of [await atIntent(id, shown), await atClaim(id, shown)])
      expect(answer).toMatchObject({ status: 409, body: { reason: 'payment_undecided', do_not_pay_again: true } });
    await world.finalize();
    expect((await claim(world, buyer, id, { ...shown, txHash })).status).toBe(200);
    expect(await atIntent(id, shown)).toMatchObject({ status: 409, body: { reason: 'purchase_exists' } });
    expect(await atClaim(id, shown)).toMatchObject({ status: 200, body: { artifact } });
  });

  it('by another intent counts as well', async () => {
    const { id } = await trade.goods();
    const payer = await trade.wallet(2n * PRICE, GAS_WEI);
    const unnamed = await openIntent(world, buyer, id);
    const named = await openIntent(world, buyer, id, { payer_wallet: payer.address });
    const signature = await signChallenge(payer, named);
    const txHash = await transfer(world, payer, named.seller_wallet, PRICE);
    expect((await claim(world, buyer, id, { intent: named, signature, txHash })).status).toBe(202);
    const shown = { intent: unnamed, signature: await signChallenge(payer, unnamed) };
    expect(await atClaim(id, shown)).toMatchObject({ status: 409, body: { reason: 'payment_undecided' } });
    await world.finalize();
    expect((await claim(world, buyer, id, { intent: named, signature, txHash })).status).toBe(200);
    expect(await atClaim(id, shown)).toMatchObject({ status: 409, body: { reason: 'purchase_exists' } });
  });
});

it('a foreign intent is as unknown as one that is not there, and each is for its own listing', async () => {
  const { id } = await trade.goods();
  const { id: elsewhere } = await trade.goods();
  const intent = await openIntent(world, buyer, id);
  const shown = { intent, signature: await signChallenge(stranger, intent) };
  const other = await world.join('buyer-of-nothing');
  for (const ask of [atIntent, atClaim]) {
    expect(await ask(id, shown, other)).toMatchObject({ status: 404, body: { reason: 'intent_not_found' } });
    expect(await ask(elsewhere, shown)).toMatchObject({ status: 409, body: { reason: 'intent_changed' } });
  }
  for (const body of [{ intent_id: intent.id }, { payer_signature: shown.signature }]) {
    const answer = await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body });
    expect(answer).toMatchObject({ status: 400, body: { reason: 'invalid_fields' } });
  }
});

it('fees are judged alike', async () => {
  const payer = await trade.wallet(PRICE);
  const intent = await openFeeIntent(world, seller, { payer_wallet: payer.address });
  const before = await countRows(world.db.database);
  for (const [account, isGood] of [
    [payer, true],
    [stranger, false],
  ] as const) {
    const body = { intent_id: intent.id, payer_signature: await signChallenge(account, intent) };
    expect(await world.ask('POST', '/api/fee-intent', { key: seller.key, body })).toMatchObject({
      status: 200,
      body: { signature_checked: isGood, fee_intent: { id: intent.id } },
    });
  }
  expect(await countRows(world.db.database)).toEqual(before);
  const body = { intent_id: intent.id, payer_signature: await signChallenge(payer, intent) };
  const misplaced = await world.ask('POST', `/api/purchase-intent/${(await trade.goods()).id}`, {
    key: seller.key,
    body,
  });
  expect([misplaced.status, misplaced.body['reason']]).toEqual([409, 'intent_changed']);
});
