import { z } from 'zod';
import { isHex } from '../../../../platform/hex.ts';
import type { PaymentHeaders } from '../../../../platform/http/operation.ts';
import { JsonFault, readJson } from '../../../../platform/http/read-json.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Proof } from '../../terms.ts';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const units = z.string().regex(/^\d{1,39}$/);
const seconds = z.string().regex(/^\d{1,15}$/);

const payload = z.object({
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/),
  authorization: z.object({
    from: address,
    to: address,
    value: units,
    validAfter: seconds,
    validBefore: seconds,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  }),
});

const short = z.string().max(2_048);
const v1 = z.object({ x402Version: z.literal(1), scheme: short, network: short, payload });
const v2 = z.object({
  x402Version: z.literal(2),
  resource: z.object({ url: short }).optional(),
  accepted: z.object({ scheme: short, network: short, asset: short, amount: short, payTo: short }),
  payload,
});

/**
 * Reads the request's proof, or null. Checks only its form; check-proof.ts checks the rest. No part of the proof ever goes into an error.
 */
export function readProof(headers: Pick<PaymentHeaders, 'v1' | 'v2'>): Proof | null {
  if (headers.v1 !== null && headers.v2 !== null) throw new Refusal('two_proofs');
  if (headers.v1 !== null) return readV1(headers.v1);
  return headers.v2 === null ? null : readV2(headers.v2);
}

function readV1(header: string): Proof {
  const read = v1.safeParse(decodeHeader(header, 'X-PAYMENT'));
  if (!read.success) throw malformedProof('X-PAYMENT', read.error);
  const { scheme, network } = read.data;
  return {
    version: 1,
    ...signedPart(read.data.payload),
    scheme,
    network,
    asset: null,
    payTo: null,
    amount: null,
    resourceUrl: null,
  };
}

function readV2(header: string): Proof {
  const read = v2.safeParse(decodeHeader(header, 'PAYMENT-SIGNATURE'));
  if (!read.success) throw malformedProof('PAYMENT-SIGNATURE', read.error);
  const { scheme, network, asset, amount, payTo } = read.data.accepted;
  return {
    version: 2,
    ...signedPart(read.data.payload),
    scheme,
    network,
    asset,
    payTo,
    amount,
    resourceUrl: read.data.resource?.url ?? null,
  };
}

function signedPart(signed: z.output<typeof payload>): Pick<Proof, 'authorization' | 'signature'> {
  const { authorization } = signed;
  return {
    signature: lowerHex(signed.signature),
    authorization: {
      from: lowerHex(authorization.from),
      to: lowerHex(authorization.to),
      value: BigInt(authorization.value),
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
      nonce: lowerHex(authorization.nonce),
    },
  };
}

function lowerHex(text: string): `0x${string}` {
  const hex = text.toLowerCase();
  if (!isHex(hex)) throw new TypeError('the schema lets only hex through');
  return hex;
}

function decodeHeader(header: string, name: string): unknown {
  const text = header.trim();
  if (!BASE64.test(text)) throw malformedProof(name);
  try {
    return readJson(Buffer.from(text, 'base64'));
  } catch (error) {
    if (error instanceof JsonFault) throw malformedProof(name);
    throw error;
  }
}

function malformedProof(header: string, error?: z.ZodError): Refusal {
  const errors = error?.issues.map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const detail = `${header} holds no x402 payload of the scheme exact.`;
  return new Refusal('malformed_proof', errors ? { detail, errors } : { detail });
}
