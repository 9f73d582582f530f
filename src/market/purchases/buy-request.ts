import type { Endpoints } from '../../contract/index.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import type { ListingTerms } from '../listings/store.ts';
import type { Proof, Terms } from '../payments/terms.ts';
import { readProof } from '../payments/x402/read-proof.ts';

/** One request to buy, or to collect. */
export interface BuyRequest {
  listingId: bigint;
  merchant: Merchant | null;
  proof: Proof | null;
  tokenHash: Buffer | null;
  maxPriceUnits: bigint | null;
  collectOnly: boolean;
}

export function readBuyRequest(call: MarketCall<Endpoints['buyListing']>): BuyRequest {
  const { deliveryToken } = call.payment;
  return {
    listingId: call.params.id,
    merchant: call.caller,
    proof: readProof(call.payment),
    tokenHash: deliveryToken === null ? null : tokenHashOf(deliveryToken),
    maxPriceUnits: call.body.max_price_usdc ?? null,
    collectOnly: call.body.collect ?? false,
  };
}

export function tokenHashOf(token: string): Buffer {
  return sha256('delivery-token\0', token);
}

/** What the seller asks. Merchant text stays out: these words travel in headers and into wallets. */
export function purchaseTerms(
  market: Pick<Market, 'config'>,
  listing: Pick<ListingTerms, 'id' | 'sellerWallet' | 'priceUnits'>,
): Terms {
  return {
    purpose: 'purchase',
    payee: listing.sellerWallet,
    valueUnits: listing.priceUnits,
    resource: `${market.config.baseUrl}/api/buy/${listing.id}`,
    description: `Listing ${listing.id}`,
  };
}
