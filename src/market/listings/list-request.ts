import type { Reason } from '../../contract/errors.ts';
import type { ClaimBody } from '../../contract/payments.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { PaymentHeaders } from '../../platform/http/operation.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { readProof } from '../payments/paths/x402/read-proof.ts';
import type { Payment } from '../payments/payment.ts';
import type { Proof, Terms } from '../payments/terms.ts';
import { bodyHashOf } from './read-goods.ts';

/** One request to list, after everything that can be read from it alone. */
export interface ListRequest {
  merchant: Merchant;
  bodyHash: Buffer;
  proof: Proof | null;
  /** The transfer for a fee intent that was sent along in place of an authorization. */
  claim: ClaimBody | null;
  /** It was told of a transfer that may have been this fee, and pays all the same. */
  payAnew: boolean;
  subject: ListedKind;
}

/** What is to be listed: goods, or a thing of a city. Everything about its fee is the same for both, but for this. */
export interface ListedKind {
  /** Where it is listed, which the 402 names. */
  path: '/api/listing' | '/api/world/listing';
  /** As the merchant calls it. */
  noun: 'goods' | 'a draft';
  /** What a paid fee is answered with that could not be spent on it. */
  unlistable: Extract<Reason, 'duplicate_listing' | 'offer_mismatch'>;
  /** No merchant is asked to pay for what would be refused: throws whatever can be wrong with it. */
  check(): Promise<CheckedGoods>;
}

/** What has passed its checks. Both are called in a transaction, and judge once more what others may have changed meanwhile. */
export interface CheckedGoods {
  /** Keeps it for a fee that was just opened, with what it takes to list it when the fee is final. */
  hold(tx: Tx, payment: Payment): Promise<void>;
  /** Lists it for a fee that is paid; null: the maintainer's, free of charge. */
  list(tx: Tx, feeId: bigint | null): Promise<bigint>;
}

/** What the treasury asks for a listing. An attempt under way keeps the terms that it was opened with. */
export function feeTerms(market: Pick<Market, 'config'>, subject: Pick<ListedKind, 'path'>, payment?: Payment): Terms {
  const { baseUrl, treasury } = market.config;
  return {
    purpose: 'listing_fee',
    payee: payment?.payee ?? treasury,
    valueUnits: payment?.valueUnits ?? LISTING_FEE_UNITS,
    resource: `${baseUrl}${subject.path}`,
    description: 'Listing fee, paid to the treasury',
  };
}

export function bodyBytes(body: unknown): Buffer {
  return Buffer.from(canonicalJson(body), 'utf8');
}

interface FeeCall {
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
