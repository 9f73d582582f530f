import { CHECKOUT_MINUTES } from '../../../contract/vocabulary.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Checkout, findCheckout } from '../checkouts/store.ts';
import type { CityClaim } from '../sync/read-claim.ts';
import type { WorldListing } from '../sync/store.ts';
import { findLostBuyer, mayHaveBeenShown } from './store.ts';

/** `isLost`: it is not in the books, and stands here as the city tells of it. */
export type ClaimedCheckout = { checkout: Checkout | null; isLost: boolean };

/**
 * The checkout that a claimed offer names. One that was lost is taken from what the city says of the reservation, where the books link
 * that merchant with that resident: what it allows is no more than to record a transfer that is on the chain. `checkout` is null where
 * no merchant opened it, or where it is unknown who did.
 */
export async function findClaimedCheckout(
  queryable: Queryable,
  listing: WorldListing,
  claim: CityClaim,
): Promise<ClaimedCheckout> {
  const checkout = await findCheckout(queryable, claim.checkoutId);
  if (checkout !== null) return { checkout, isLost: false };
  if (!(await mayHaveBeenShown(queryable, 'world_checkouts', claim.checkoutId))) return { checkout, isLost: false };
  const { marketBuyer, buyer: cityHandle } = claim;
  const createdAt = new Date(claim.reservedAt);
  const merchantId = await findLostBuyer(queryable, { marketBuyer, cityHandle, reservedAt: createdAt });
  const isForeign = merchantId !== listing.merchantId && cityHandle !== listing.sellerHandle;
  if (merchantId === null || !isForeign) return { checkout: null, isLost: true };
  const expiresAt = new Date(claim.reservedAt + CHECKOUT_MINUTES * 60_000);
  const own = { id: claim.checkoutId, listingId: listing.id, offerId: listing.offerId, merchantId };
  return {
    checkout: { ...own, marketBuyer, cityHandle, state: 'open', createdAt, expiresAt },
    isLost: true,
  };
}
