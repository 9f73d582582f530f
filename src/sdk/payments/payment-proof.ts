import { bytesToHex, type Hex } from 'viem';
import { z } from 'zod';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import { toBase64 } from '../base64.ts';
import type { Environment } from '../environment.ts';
import {
  chooseOffer,
  type ExpectedPayment,
  type Offer,
  type PaymentRequired,
  type X402Version,
} from './payment-required.ts';

export interface Authorization {
  from: Hex;
  to: Hex;
  /** Amount in USDC units: 1 USDC is 1_000_000n. */
  value: bigint;
  /** Seconds since 1970. The block's time must be strictly between `validAfter` and `validBefore`. */
  validAfter: bigint;
  validBefore: bigint;
  /** 32 random bytes. */
  nonce: Hex;
}

export interface AuthorizationToSign {
  domain: { name: string; version: string; chainId: bigint; verifyingContract: Hex };
  types: typeof AUTHORIZATION_TYPES;
  primaryType: 'TransferWithAuthorization';
  message: Authorization;
}

/** A wallet that signs typed data. Any viem `LocalAccount` fits. */
export interface Wallet {
  readonly address: Hex;
  signTypedData(typed: AuthorizationToSign): Promise<Hex>;
}

export interface SignedAuthorization {
  authorization: Authorization;
  signature: Hex;
}

/** x402 v1 clients backdate the start by ten minutes because clocks differ. v2 clients set no start. */
const V1_BACKDATE_SECONDS = 600n;

/**
 * Signs a transfer of exactly the expected payment, valid for `windowSeconds`. Unless the value is 0, each call allows one more payment.
 */
export async function signAuthorization(
  wallet: Wallet,
  payment: ExpectedPayment,
  terms: { x402Version: X402Version; windowSeconds: number; nonce?: Hex },
  environment: Pick<Environment, 'now' | 'randomBytes'>,
): Promise<SignedAuthorization> {
  const network = NETWORKS[payment.network];
  const nowSeconds = BigInt(Math.floor(environment.now() / 1000));
  const authorization: Authorization = {
    from: wallet.address,
    to: payment.payee,
    value: payment.amountUnits,
    validAfter: terms.x402Version === 1 ? nowSeconds - V1_BACKDATE_SECONDS : 0n,
    validBefore: nowSeconds + BigInt(terms.windowSeconds),
    nonce: terms.nonce ?? bytesToHex(environment.randomBytes(32)),
  };
  const signature = await wallet.signTypedData({
    domain: {
      name: network.domainName,
      version: network.domainVersion,
      chainId: network.chainId,
      verifyingContract: network.usdc,
    },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
  return { authorization, signature };
}

/** A signed payment header. Until `valid_before` (seconds since 1970) anybody who has it can pay with it, so protect it like a key. */
export const paymentProof = z.object({
  header: z.object({ name: z.enum(['X-PAYMENT', 'PAYMENT-SIGNATURE']), value: z.string().min(1) }),
  payer: z.string(),
  nonce: z.string(),
  valid_before: z.int(),
});
export type PaymentProof = z.output<typeof paymentProof>;

/** Checks a 402 against the agreed terms, signs once and builds the header. */
export async function signProof(
  wallet: Wallet,
  required: PaymentRequired,
  expected: ExpectedPayment,
  environment: Pick<Environment, 'now' | 'randomBytes'>,
): Promise<PaymentProof> {
  const offer = chooseOffer(required, expected);
  const terms = { x402Version: required.x402Version, windowSeconds: offer.maxTimeoutSeconds };
  const signed = await signAuthorization(wallet, expected, terms, environment);
  return {
    header: encodeProof(required, offer, signed),
    payer: signed.authorization.from,
    nonce: signed.authorization.nonce,
    valid_before: Number(signed.authorization.validBefore),
  };
}

/** Encodes the JSON payload as base64 for X-PAYMENT (v1) or PAYMENT-SIGNATURE (v2). */
export function encodeProof(
  required: PaymentRequired,
  offer: Offer,
  signed: SignedAuthorization,
): PaymentProof['header'] {
  const { from, to, value, validAfter, validBefore, nonce } = signed.authorization;
  const authorization = {
    from,
    to,
    value: value.toString(),
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
    nonce,
  };
  const payload = { signature: signed.signature, authorization };
  if (required.x402Version === 1) {
    return {
      name: 'X-PAYMENT',
      value: base64({ x402Version: 1, scheme: offer.scheme, network: offer.network, payload }),
    };
  }
  const { resource, extensions } = required;
  return {
    name: 'PAYMENT-SIGNATURE',
    value: base64({ x402Version: 2, resource, accepted: offer.raw, payload, extensions }),
  };
}

function base64(value: unknown): string {
  return toBase64(new TextEncoder().encode(JSON.stringify(value)));
}
