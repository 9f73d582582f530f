import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { type ListingTerms, shareListing } from '../listings/store.ts';
import { insertPayment, type Payment } from '../payments/store.ts';
import type { Proof } from '../payments/terms.ts';
import { type BuyRequest, tokenHashOf } from './buy-request.ts';

export interface OpenedPurchase {
  payment: Payment;
  /** For a caller without a key: shown in this one answer, whatever its status, and kept only as a hash. */
  deliveryToken: string | null;
}

/**
 * Commits the attempt before the facilitator hears of it, with terms and state read under a share lock of the listing. Null when a
 * unique rule gives the authorization, the payer or the merchant to another attempt: then that one is the answer.
 */
export async function openPurchase(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  proof: Proof,
  openedBlock: bigint,
): Promise<OpenedPurchase | null> {
  const deliveryToken = request.merchant === null ? market.random.bytes(32).toString('base64url') : null;
  const { network } = market.config;
  const { authorization } = proof;
  const payment = await market.database.transaction(async (tx) => {
    const shared = await shareListing(tx, listing.id);
    if (shared === null || shared.state !== 'live') throw new Refusal('listing_unavailable');
    return await insertPayment(tx, {
      purpose: 'purchase',
      listingId: shared.id,
      merchantId: request.merchant?.id ?? null,
      bodyHash: null,
      chainId: network.chainId,
      asset: network.usdc,
      payee: shared.sellerWallet,
      payer: authorization.from,
      valueUnits: shared.priceUnits,
      nonce: authorization.nonce,
      validAfter: authorization.validAfter,
      validBefore: authorization.validBefore,
      openedBlock,
      deliveryTokenHash: deliveryToken === null ? null : tokenHashOf(deliveryToken),
      facilitatorUrl: market.config.facilitatorUrl,
      now: new Date(market.clock.now()),
    });
  });
  return payment && { payment, deliveryToken };
}
