import type { ClaimBody } from '../../contract/payments.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Market, Merchant } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import type { Proof, Terms } from '../payments/terms.ts';
import type { Goods } from './read-goods.ts';
import type { Version } from './read-version.ts';

/** One request to list, after everything that can be read from it alone. */
export interface ListRequest {
  merchant: Merchant;
  goods: Goods;
  version: Version | null;
  rawBody: unknown;
  bodyHash: Buffer;
  guardKey: Buffer;
  proof: Proof | null;
  /** The transfer for a fee intent that was sent along in place of an authorization. */
  claim: ClaimBody | null;
}

/** What the treasury asks for a listing. An attempt under way keeps the terms that it was opened with. */
export function feeTerms(market: Pick<Market, 'config'>, payment?: Payment): Terms {
  const { baseUrl, treasury } = market.config;
  return {
    purpose: 'listing_fee',
    payee: payment?.payee ?? treasury,
    valueUnits: payment?.valueUnits ?? LISTING_FEE_UNITS,
    resource: `${baseUrl}/api/listing`,
    description: 'Listing fee, paid to the treasury',
  };
}

export function bodyBytes(request: ListRequest): Buffer {
  return Buffer.from(canonicalJson(request.rawBody), 'utf8');
}
