import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { type ListingTerms, shareListing } from '../listings/store.ts';
import { PAYMENT_PATHS } from '../payments/paths/payment-paths.ts';
import type { Payment } from '../payments/payment.ts';
import type { Proof } from '../payments/terms.ts';
import type { BuyRequest } from './buy-request.ts';
import { isEarlierBuyer } from './store.ts';

export interface PurchaseToOpen {
  request: Pick<BuyRequest, 'merchant'>;
  listing: ListingTerms;
  proof: Proof;
  /** The finalized block of the moment when the nonce was read as unused. */
  floor: bigint;
  /** The hash of the token that collects; null for a caller with a key. */
  token: Buffer | null;
}

/**
 * Commits the attempt before the facilitator hears of it, with terms and state read under a share lock of the listing. Null when a
 * unique rule gives the authorization, the payer or the merchant to another attempt: then that one is the answer. Null also when an
 * older version has become this buyer's meanwhile, so that nothing is to be paid.
 */
export async function openPurchase(market: Market, given: PurchaseToOpen): Promise<Payment | null> {
  const { request } = given;
  const { authorization } = given.proof;
  return await market.database.transaction(async (tx) => {
    const { id } = given.listing;
    const buyer = { merchantId: request.merchant?.id ?? null, payer: authorization.from };
    const [shared, entitled] = await Promise.all([shareListing(tx, id), isEarlierBuyer(tx, id, buyer)]);
    if (shared === null) throw new Refusal('listing_unavailable');
    mustStep(shared, 'buy');
    if (entitled) return null;
    return await PAYMENT_PATHS.x402.open(market, tx, {
      ...{ purpose: 'purchase', listingId: shared.id, merchantId: buyer.merchantId, bodyHash: null },
      ...{ payee: shared.sellerWallet, valueUnits: shared.priceUnits },
      ...{ proof: given.proof, openedBlock: given.floor, deliveryTokenHash: given.token },
    });
  });
}
