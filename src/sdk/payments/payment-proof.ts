import { z } from 'zod';
import { toBase64 } from '../base64.ts';
import type { Environment } from '../environment.ts';
import { chooseOffer, type ExpectedPayment } from './choose-offer.ts';
import type { Offer, PaymentRequired } from './payment-required.ts';
import { type SignedAuthorization, signAuthorization, type Wallet } from './sign-authorization.ts';

/** A signed payment as it goes into a header. Until `valid_before` (seconds since 1970) it is a cheque: keep it like a key. */
export const paymentProof = z.object({
  header: z.object({ name: z.enum(['X-PAYMENT', 'PAYMENT-SIGNATURE']), value: z.string().min(1) }),
  payer: z.string(),
  nonce: z.string(),
  valid_before: z.int(),
});
export type PaymentProof = z.output<typeof paymentProof>;

/** Checks what a 402 asks for against what was agreed, signs it once and makes the header. */
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

/** X-PAYMENT (v1) or PAYMENT-SIGNATURE (v2): base64 of the JSON payload. */
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
