import type { ClaimBody } from '../../contract/payments.ts';
import type { PaymentHeaders } from '../../platform/http/operation.ts';
import { Refusal } from '../../platform/refusal.ts';
import { readProof } from '../payments/paths/x402/read-proof.ts';
import type { ListRequest } from './list-request.ts';
import { bodyHashOf } from './read-goods.ts';

export interface FeeCall {
  payment: PaymentHeaders;
  body: { fee_payment?: ClaimBody | undefined; pay_anew?: boolean | undefined };
  rawBody: unknown;
}

/** What identifies a request to list, and how it pays. The same body with another payment is the same request (W6). */
export function readFeePayment(
  call: FeeCall,
): Pick<ListRequest, 'bodyHash' | 'proof' | 'claim' | 'payAnew'> & { rawBody: unknown } {
  const { fee_payment: claim, pay_anew: payAnew = false } = call.body;
  const rawBody = withoutPayment(call.rawBody);
  const proof = readProof(call.payment);
  if (proof !== null && claim !== undefined) {
    throw new Refusal('two_proofs', { detail: 'A fee is paid by x402 or by fee_payment, never by both.' });
  }
  return { rawBody, bodyHash: bodyHashOf(rawBody), proof, claim: claim ?? null, payAnew };
}

function withoutPayment(rawBody: unknown): unknown {
  if (typeof rawBody !== 'object' || rawBody === null) return rawBody;
  const { fee_payment: _, pay_anew: __, ...body } = rawBody as Record<string, unknown>;
  return body;
}
