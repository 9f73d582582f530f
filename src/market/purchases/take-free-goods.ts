import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { type ListingTerms, shareListing } from '../listings/store.ts';
import { lockWalks, recordSale } from './complete-purchase.ts';
import { type BuyAnswer, deliver } from './deliver.ts';
import { findPurchase, insertFreePurchase } from './store.ts';

/** Free goods are delivered at once. With a key they are a purchase, once; without one nothing is recorded. */
export async function takeFreeGoods(
  market: Market,
  listing: ListingTerms,
  merchant: Merchant | null,
): Promise<BuyAnswer> {
  if (merchant === null) return await deliver(market, listing.id, null, null);
  await market.database.transaction(async (tx) => {
    const shared = await shareListing(tx, listing.id);
    if (shared === null) throw new Refusal('listing_unavailable');
    mustStep(shared, 'buy');
    await lockWalks(tx, listing.merchantId, merchant.id);
    const id = await insertFreePurchase(tx, listing.id, merchant.id, new Date(market.clock.now()));
    if (id === null) return;
    await recordSale(tx, market, {
      listingId: listing.id,
      merchantId: listing.merchantId,
      buyerId: merchant.id,
      paidUnits: 0n,
      via: 'free',
      paymentId: null,
      txHash: null,
    });
  });
  const purchase = await findPurchase(market.database, listing.id, { merchantId: merchant.id });
  return await deliver(market, listing.id, purchase, 'key');
}
