import { decodePaymentSignatureHeader } from '@x402/core/http';
import { PaymentPayloadV1Schema, PaymentPayloadV2Schema } from '@x402/core/schemas';
import { authorizationTypes } from '@x402/evm';
import { recoverTypedDataAddress, verifyTypedData } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expect, test } from 'vitest';
import { paymentRequiredAnswer, SELLER } from '../../../test/support/market-answers.ts';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import { signAuthorization, signProof } from './payment-proof.ts';
import { readPaymentRequired } from './payment-required.ts';

const NOW_SECONDS = 1_800_000_000n;
const environment = { now: () => Number(NOW_SECONDS) * 1_000 + 999, randomBytes: () => new Uint8Array(32).fill(0xab) };
const wallet = privateKeyToAccount(generatePrivateKey());
const expected = { payee: SELLER, amountUnits: 2_500_000n, network: 'base' } as const;

function asked(version: 1 | 2) {
  const reply = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });
  if (reply === 'cut') throw new Error('no answer');
  return readPaymentRequired({ header: reply.headers?.['payment-required'] ?? null, body: reply.body }, version);
}

function domainOf(name: 'base' | 'base-sepolia') {
  const network = NETWORKS[name];
  return {
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  };
}

test('the typed data is the one that x402 facilitators check', () => {
  expect(AUTHORIZATION_TYPES).toEqual(authorizationTypes);
});

test.each(['base', 'base-sepolia'] as const)(
  'a signature is valid for USDC on %s and for no other chain',
  async (name) => {
    const terms = { x402Version: 2, windowSeconds: 120 } as const;
    const { authorization, signature } = await signAuthorization(
      wallet,
      { ...expected, network: name },
      terms,
      environment,
    );
    const typed = {
      types: authorizationTypes,
      primaryType: 'TransferWithAuthorization',
      message: authorization,
    } as const;
    const { address } = wallet;
    expect(await verifyTypedData({ address, domain: domainOf(name), ...typed, signature })).toBe(true);
    const other = name === 'base' ? 'base-sepolia' : 'base';
    expect(await recoverTypedDataAddress({ domain: domainOf(other), ...typed, signature })).not.toBe(address);
  },
);

test('v1 dates back ten minutes, v2 leaves the beginning open; both end after the window', async () => {
  const sign = (x402Version: 1 | 2) =>
    signAuthorization(wallet, expected, { x402Version, windowSeconds: 90 }, environment);
  const [v1, v2] = [await sign(1), await sign(2)];
  expect(v1.authorization.validAfter).toBe(NOW_SECONDS - 600n);
  expect(v2.authorization.validAfter).toBe(0n);
  for (const { authorization } of [v1, v2]) {
    expect(authorization).toMatchObject({ validBefore: NOW_SECONDS + 90n, value: 2_500_000n, to: SELLER });
    expect(authorization.nonce).toBe(`0x${'ab'.repeat(32)}`);
  }
});

test('the v1 header reads as a v1 payload of x402', async () => {
  const { header, nonce, valid_before } = await signProof(wallet, asked(1), expected, environment);
  expect(header.name).toBe('X-PAYMENT');
  const payload = decodePaymentSignatureHeader(header.value);
  expect(PaymentPayloadV1Schema.safeParse(payload).success).toBe(true);
  expect(payload).toMatchObject({ x402Version: 1, scheme: 'exact', network: 'base' });
  expect(payload.payload['authorization']).toEqual({
    from: wallet.address,
    to: SELLER,
    value: '2500000',
    validAfter: String(NOW_SECONDS - 600n),
    validBefore: String(valid_before),
    nonce,
  });
});

test('the v2 header reads as a v2 payload and gives the chosen offer and the resource back unchanged', async () => {
  const required = asked(2);
  const { header } = await signProof(wallet, required, expected, environment);
  expect(header.name).toBe('PAYMENT-SIGNATURE');
  const payload = decodePaymentSignatureHeader(header.value);
  expect(PaymentPayloadV2Schema.safeParse(payload).success).toBe(true);
  expect(payload.accepted).toEqual(required.offers[0]?.raw);
  expect(payload.resource).toMatchObject({ description: 'Grüße' });
  const { signature, authorization } = payload.payload as {
    signature: `0x${string}`;
    authorization: Record<string, string>;
  };
  const message = {
    from: wallet.address,
    to: SELLER,
    value: BigInt(authorization['value'] ?? 0),
    validAfter: BigInt(authorization['validAfter'] ?? 0),
    validBefore: BigInt(authorization['validBefore'] ?? 0),
    nonce: authorization['nonce'] as `0x${string}`,
  } as const;
  const typed = { types: authorizationTypes, primaryType: 'TransferWithAuthorization', message } as const;
  expect(await verifyTypedData({ address: wallet.address, domain: domainOf('base'), ...typed, signature })).toBe(true);
});
