import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { audit } from '../audit/audit.ts';
import { settleData, signAuthorization } from '../support/chain.ts';
import {
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { fundedWallet, newGoods } from '../support/trade.ts';
import { sendBatch } from '../world/batch-transaction.ts';

// One transaction uses several authorizations. Each authorization pays with its own transfer and no other.

const { sellerOne, stranger } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const facilitator = await startScriptedFacilitator();
let world: World;
let seller: Member;
let names = 0;

beforeAll(async () => {
  world = await startWorld({ facilitatorUrl: facilitator.url });
  // The facilitator accepts every proof but submits none, so the signer can still use the authorization's nonce elsewhere.
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  // Merchant 1 is the maintainer, who lists without a fee.
  seller = await world.join('the-keeper');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

interface Opened {
  id: bigint;
  buyer: Member;
  proof: SignedProof;
}

async function openPurchase(payer: TestAccount): Promise<Opened> {
  names += 1;
  const buyer = await world.join(`buyer-${names}`);
  const body = newGoods({ price_usdc: 2.5, seller_wallet: sellerOne.address });
  const listed = await world.ask('POST', '/api/listing', { key: seller.key, body });
  const id = BigInt(Number(listed.body['listing_id']));
  const resource = `${BASE_URL}/api/buy/${id}`;
  const proof = await signProof(world.chain, payer, { payTo: sellerOne.address, units: PRICE, resource });
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(503);
  return { id, buyer, proof };
}

/** Signs a transfer of zero with the same nonce, as the authorization's owner can. Returns the call data that uses it. */
async function spendOnZeroTransfer(payer: TestAccount, { authorization }: SignedProof): Promise<Hex> {
  const nothing = { ...authorization, to: payer.address, value: 0n };
  return settleData(nothing, await signAuthorization(world.chain, payer, nothing));
}

async function paysSeller(payer: TestAccount): Promise<Hex> {
  const { authorization, signature } = await signProof(world.chain, payer, { payTo: sellerOne.address, units: PRICE });
  return settleData(authorization, signature);
}

const deliveries = (opened: readonly Opened[]) =>
  Promise.all(opened.map(async ({ id, buyer }) => (await world.buy(id, { key: buyer.key })).status));

async function reviews(): Promise<Record<string, unknown>[]> {
  return (await world.ask('GET', '/api/me', { key: seller.key })).body['reviews'] as Record<string, unknown>[];
}

const faults = async (): Promise<string[]> =>
  (await audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS })).faults;

describe('one transaction with several nonces', () => {
  it('three nonces spent on nothing and one transfer to the seller buy nothing, and ask the seller for nothing', async () => {
    const payer = await fundedWallet(world);
    const opened = [await openPurchase(payer), await openPurchase(payer), await openPurchase(payer)];
    const calls = await Promise.all(opened.map(({ proof }) => spendOnZeroTransfer(payer, proof)));
    await sendBatch(world, stranger, [...calls, await paysSeller(payer)]);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
    expect(await deliveries(opened)).toEqual([402, 402, 402]);
    expect(await reviews()).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  it('the transfer of one authorization between two that moved nothing delivers the one', async () => {
    const payer = await fundedWallet(world);
    const opened = [await openPurchase(payer), await openPurchase(payer), await openPurchase(payer)];
    const [first, paid, last] = opened as [Opened, Opened, Opened];
    await sendBatch(world, stranger, [
      await spendOnZeroTransfer(payer, first.proof),
      settleData(paid.proof.authorization, paid.proof.signature),
      await spendOnZeroTransfer(payer, last.proof),
    ]);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect(await deliveries(opened)).toEqual([402, 200, 402]);
    expect(await reviews()).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  it('two that did pay are two transfers: one is delivered, the seller sees the other’s own and may deliver on it', async () => {
    const opened = [await openPurchase(await fundedWallet(world)), await openPurchase(await fundedWallet(world))];
    await sendBatch(
      world,
      stranger,
      opened.map(({ proof }) => settleData(proof.authorization, proof.signature)),
    );
    await world.finalize();
    await world.running.payments.reconcileOnce();
    expect((await deliveries(opened)).toSorted()).toEqual([200, 422]);
    const [review, ...more] = await reviews();
    expect(more).toEqual([]);
    expect(review).toMatchObject({ reason: 'transaction_used', asked_usdc: 2.5, received_usdc: 2.5 });
    const decision = { key: seller.key, body: { outcome: 'deliver' } };
    expect((await world.ask('POST', `/api/review/${review?.['payment_id']}`, decision)).status).toBe(200);
    expect(await deliveries(opened)).toEqual([200, 200]);
    expect(await faults()).toEqual([]);
  });
});
