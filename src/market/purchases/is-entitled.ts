import type { Queryable } from '../../platform/database/database.ts';
import { isRefused, judgeStep } from '../listings/listing-steps.ts';
import type { ListingTerms } from '../listings/store.ts';
import { type Buyer, isEarlierBuyer } from './store.ts';

/**
 * Whether the goods are this buyer's without a payment, because an older version of them was bought (W6). A pure reading: an
 * entitlement is never written down, so nothing can collide with a payment of the same buyer (0027). It grows with purchases and ends
 * with a removal, since hidden goods go to no new buyer then.
 */
export async function isEntitled(
  queryable: Queryable,
  listing: Pick<ListingTerms, 'id' | 'merchantId' | 'state'>,
  buyer: Buyer,
): Promise<boolean> {
  if (buyer.merchantId === null && buyer.payer === null) return false;
  if (buyer.merchantId === listing.merchantId) return false;
  if (isRefused(judgeStep(listing, 'inherit'))) return false;
  return await isEarlierBuyer(queryable, listing.id, buyer);
}
