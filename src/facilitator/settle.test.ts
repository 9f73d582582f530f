import { HTTPFacilitatorClient } from '@x402/core/http';
import type { VerifyRequest } from '@x402/core/types';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestChain, usdcAdmin } from '../../test/support/chain.ts';
import {
  minedBy,
  paymentBody,
  post,
  signPayment,
  startTestFacilitator,
  type TestFacilitator,
  usesOf,
} from '../../test/support/facilitator.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import { testAccount, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';
import type { LocalChain } from '../local/chain/start-chain.ts';
import { fund } from '../local/chain/transactions.ts';
import { readBalance } from '../platform/chain/usdc.ts';
import { systemClock } from '../platform/clock.ts';
import type { Hex } from '../platform/hex.ts';

const { buyerOne, buyerTwo, sellerOne, sellerTwo, stranger } = WORLD_ACCOUNTS;
const { usdc } = NETWORKS.base;

let chain: LocalChain;
let facilitator: TestFacilitator;

beforeAll(async () => {
  chain = await startTestChain();
  facilitator = await startTestFacilitator(chain);
});

afterAll(async () => {
  await facilitator?.close();
  await chain?.kill();
});

const verify = (body: unknown) => post(`${facilitator.url}/verify`, body);
const settle = (body: unknown) => post(`${facilitator.url}/settle`, body);

test.each([
  [1, 'base'],
  [2, 'eip155:8453'],
] as const)(
  'a payment in version %i is verified and settled, and the answer names the network %s',
  async (version, network) => {
    const payment = await signPayment(chain);
    const before = await readBalance(chain.rpc, usdc, sellerOne.address);
    const body = paymentBody(payment, version);
    expect(await verify(body)).toMatchObject({ status: 200, body: { isValid: true, payer: buyerOne.address } });
    const answer = await settle(body);
    const [hash] = await usesOf(chain, buyerOne.address, payment.authorization.nonce);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: true, transaction: hash, network, payer: buyerOne.address });
    expect(await readBalance(chain.rpc, usdc, sellerOne.address)).toBe(before + 1_000_000n);
  },
);

test('50 settlements of one payment at once, in both versions, are one transaction and one answer', async () => {
  const payment = await signPayment(chain);
  const minedBefore = await minedBy(chain, facilitator.address);
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, i) => settle(paymentBody(payment, i % 2 === 0 ? 1 : 2))),
  );
  const [hash, ...more] = await usesOf(chain, buyerOne.address, payment.authorization.nonce);
  expect(more).toEqual([]);
  expect(answers.map(({ body }) => [body['success'], body['transaction']])).toEqual(answers.map(() => [true, hash]));
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore + 1);
});

test('20 different payments at once are 20 transactions', async () => {
  const minedBefore = await minedBy(chain, facilitator.address);
  const payments = await Promise.all(Array.from({ length: 20 }, () => signPayment(chain, { payer: buyerTwo })));
  const answers = await Promise.all(payments.map((payment) => settle(paymentBody(payment))));
  expect(answers.map(({ body }) => body['success'])).toEqual(answers.map(() => true));
  expect(new Set(answers.map(({ body }) => body['transaction'])).size).toBe(20);
  expect(await usesOf(chain, buyerTwo.address)).toHaveLength(20);
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore + 20);
});

test('a settled payment is settled again with the same hash, and nothing is sent', async () => {
  const payment = await signPayment(chain);
  const first = await settle(paymentBody(payment));
  const minedBefore = await minedBy(chain, facilitator.address);
  const again = await settle(paymentBody(payment, 1));
  expect(again.body).toEqual({ ...first.body, network: 'base' });
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore);
});

test('a facilitator that has forgotten everything finds the hash on the chain', async () => {
  const payment = await signPayment(chain);
  const first = await settle(paymentBody(payment));
  const other = await startTestFacilitator(chain);
  try {
    const again = await post(`${other.url}/settle`, paymentBody(payment));
    expect(again.body).toEqual(first.body);
  } finally {
    await other.close();
  }
});

test('a payment that a stranger has settled is a success with the hash of the stranger', async () => {
  const payment = await signPayment(chain);
  const { transactionHash } = await usdcAdmin(chain).settleAuthorization(
    stranger,
    payment.authorization,
    payment.signature,
  );
  const answer = await settle(paymentBody(payment));
  expect(answer.body).toMatchObject({ success: true, transaction: transactionHash });
});

test('a nonce used for another payment is refused', async () => {
  const paid = await signPayment(chain, { to: sellerTwo.address });
  await usdcAdmin(chain).settleAuthorization(stranger, paid.authorization, paid.signature);
  const payment = await signPayment(chain, { nonce: paid.authorization.nonce });
  const reason = 'invalid_exact_evm_nonce_already_used';
  expect((await verify(paymentBody(payment))).body).toMatchObject({ isValid: false, invalidReason: reason });
  expect((await settle(paymentBody(payment))).body).toMatchObject({
    success: false,
    errorReason: reason,
    transaction: '',
  });
});

test('a cancelled nonce is refused', async () => {
  const payment = await signPayment(chain);
  await usdcAdmin(chain).cancelAuthorization(stranger, buyerOne, payment.authorization.nonce);
  const answer = await settle(paymentBody(payment));
  expect(answer.body).toMatchObject({ success: false, errorReason: 'invalid_exact_evm_nonce_already_used' });
});

test('two authorizations with one nonce at once: one is settled, the other is not said to be', async () => {
  const one = await signPayment(chain);
  const two = await signPayment(chain, { nonce: one.authorization.nonce, value: 2_000_000n });
  await Promise.all([settle(paymentBody(one)), settle(paymentBody(two))]);
  const answers = await Promise.all([settle(paymentBody(one)), settle(paymentBody(two))]);
  expect(answers.map(({ body }) => body['success']).sort()).toEqual([false, true]);
  expect(await usesOf(chain, buyerOne.address, one.authorization.nonce)).toHaveLength(1);
});

test('a forged signature is refused at once and does not stand in the way of the real one', async () => {
  const payment = await signPayment(chain);
  const forged = await signPayment(chain, { ...payment.authorization, payer: stranger, from: buyerOne.address });
  const [fake, real] = await Promise.all([settle(paymentBody(forged)), settle(paymentBody(payment))]);
  expect(fake.body).toMatchObject({ success: false, errorReason: 'invalid_exact_evm_signature', transaction: '' });
  expect(real.body).toMatchObject({ success: true });
  // The forged payment does not get the real one's answer afterwards either.
  expect((await settle(paymentBody(forged))).body).toMatchObject({ success: false, transaction: '' });
});

test('the twin of a signature, with the other s, is refused', async () => {
  const payment = await signPayment(chain);
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const { signature } = payment;
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
  const v = signature.endsWith('1b') ? '1c' : '1b';
  const twin = paymentBody({ ...payment, signature: `0x${signature.slice(2, 66)}${s}${v}` });
  expect((await verify(twin)).body).toMatchObject({ isValid: false, invalidReason: 'invalid_exact_evm_signature' });
  expect((await settle(twin)).body).toMatchObject({ success: false, errorReason: 'invalid_exact_evm_signature' });
});

test('an expired payment, one too early and one that is not covered are refused, and nothing is sent', async () => {
  const minedBefore = await minedBy(chain, facilitator.address);
  const now = BigInt(Math.floor(systemClock.now() / 1000));
  const cases = [
    [{ validBefore: now + 3n }, 'invalid_exact_evm_payload_authorization_valid_before'],
    [{ validAfter: now + 60n }, 'invalid_exact_evm_payload_authorization_valid_after'],
    [{ value: 10_000_000_000_000n }, 'invalid_exact_evm_insufficient_balance'],
  ] as const;
  for (const [terms, reason] of cases) {
    const body = paymentBody(await signPayment(chain, terms));
    expect((await verify(body)).body).toMatchObject({ isValid: false, invalidReason: reason });
    const answer = await settle(body);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      success: false,
      errorReason: reason,
      transaction: '',
      payer: buyerOne.address,
    });
  }
  expect(await minedBy(chain, facilitator.address)).toBe(minedBefore);
});

test('a contract wallet pays with a signature of its own kind, and only while it agrees', async () => {
  const wallet = testAccount('a contract wallet');
  await fund(chain, [{ address: wallet.address, usdcUnits: 5_000_000n }]);
  const signature: Hex = `0x${'ab'.repeat(200)}`;
  const answering = (word: string): Hex => `0x7f${word.padEnd(64, '0')}60005260206000f3`;
  const { authorization } = await signPayment(chain, { payer: wallet });
  const body = paymentBody({ authorization, signature });
  await chain.rpc.call('anvil_setCode', [wallet.address, answering('ffffffff')]);
  expect((await settle(body)).body).toMatchObject({ success: false, errorReason: 'invalid_exact_evm_signature' });
  await chain.rpc.call('anvil_setCode', [wallet.address, answering('1626ba7e')]);
  expect((await verify(body)).body).toMatchObject({ isValid: true });
  const settled = await settle(body);
  expect(settled.body).toMatchObject({ success: true });
  // The wallet would accept other signatures too, but this is the same payment and is not sent again.
  const other = await settle(paymentBody({ authorization, signature: `0x${'cd'.repeat(80)}` }, 1));
  expect(other.body).toMatchObject({ success: true, transaction: settled.body['transaction'] });
});

test('the reference client understands every answer', async () => {
  const client = new HTTPFacilitatorClient({ url: facilitator.url, timeoutMs: 8_000 });
  const good = paymentBody(await signPayment(chain));
  const bad = paymentBody(await signPayment(chain, { value: 10_000_000_000_000n }));
  const ask = (how: 'verify' | 'settle', body: object) => {
    const { paymentPayload, paymentRequirements } = body as VerifyRequest;
    return client[how](paymentPayload, paymentRequirements);
  };
  expect(await ask('verify', good)).toMatchObject({ isValid: true });
  expect(await ask('settle', good)).toMatchObject({ success: true, network: 'eip155:8453' });
  expect(await ask('verify', bad)).toMatchObject({ isValid: false });
  expect(await ask('settle', bad)).toMatchObject({ success: false });
  expect((await client.getSupported()).kinds).toHaveLength(2);
});

test('while the token is paused nothing is settled, afterwards the same payment is', async () => {
  const admin = usdcAdmin(chain);
  const payment = await signPayment(chain);
  await admin.pause();
  const paused = await settle(paymentBody(payment));
  await admin.unpause();
  expect(paused.body).toMatchObject({ success: false, transaction: '' });
  expect((await settle(paymentBody(payment))).body).toMatchObject({ success: true });
});

test('it answers at the address that a market publishes for it', async () => {
  const response = await fetch(facilitator.url);
  expect([response.status, await response.json()]).toEqual([
    200,
    { x402_facilitator: true, network: 'base', routes: ['/supported', '/verify', '/settle', '/state'] },
  ]);
});

test('it says what it supports: one network in both versions, and who signs', async () => {
  const response = await fetch(`${facilitator.url}/supported`);
  expect(await response.json()).toEqual({
    kinds: [
      { x402Version: 1, scheme: 'exact', network: 'base' },
      { x402Version: 2, scheme: 'exact', network: 'eip155:8453' },
    ],
    extensions: [],
    signers: { 'eip155:*': [WORLD_ACCOUNTS.facilitator.signer.address] },
  });
});
