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

/** A request to list. Every check that needs only the request has passed. */
export interface ListRequest {
  merchant: Merchant;
  bodyHash: Buffer;
  proof: Proof | null;
  /** The transfer for a fee intent, sent instead of an authorization. */
  claim: ClaimBody | null;
  /** Whether the merchant was told about a transfer that may be this fee and pays nevertheless. */
  payAnew: boolean;
  subject: ListedKind;
}

/** Kind of the listing: goods, or a thing of a city. Apart from this, fees are the same for both. */
export interface ListedKind {
  path: '/api/listing' | '/api/world/listing';
  noun: 'goods' | 'a draft';
  /** Refusal reason if a paid fee could not be spent on this listing. */
  unlistable: Extract<Reason, 'duplicate_listing' | 'offer_mismatch'>;
  /** Makes every check before a fee is requested, so that no merchant pays for what would be refused. Throws the refusal. */
  check(): Promise<CheckedGoods>;
}

/** A subject that passed its checks. Call both methods in a transaction; they repeat the checks whose result others may have changed. */
export interface CheckedGoods {
  /** Reserves the subject for a fee that was just opened, and stores everything needed to list it once the fee is final. */
  hold(tx: Tx, payment: Payment): Promise<void>;
  /** Lists the subject for a paid fee, or with null free of charge for the maintainer. */
  list(tx: Tx, feeId: bigint | null): Promise<bigint>;
}

/** Builds the treasury's terms for a listing. An attempt under way keeps the terms it was opened with. */
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

/**
 * Reads what identifies a request to list, and how it pays. The same body with another payment is the same request. `uploadHash` is the hash
 * of the upload that the body names.
 */
export function readFeePayment(
  call: FeeCall,
  uploadHash: Buffer | null = null,
): Pick<ListRequest, 'bodyHash' | 'proof' | 'claim' | 'payAnew'> & { rawBody: unknown } {
  const { fee_payment: claim, pay_anew: payAnew = false } = call.body;
  const rawBody = withoutPayment(call.rawBody);
  const proof = readProof(call.payment);
  if (proof !== null && claim !== undefined) {
    throw new Refusal('two_proofs', { detail: 'A fee is paid by x402 or by fee_payment, never by both.' });
  }
  return { rawBody, bodyHash: bodyHashOf(rawBody, uploadHash), proof, claim: claim ?? null, payAnew };
}

function withoutPayment(rawBody: unknown): unknown {
  if (typeof rawBody !== 'object' || rawBody === null) return rawBody;
  const { fee_payment: _, pay_anew: __, ...body } = rawBody as Record<string, unknown>;
  return body;
}
