import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { LISTINGS_LOCK, recordListing } from '../../listings/add-listing.ts';
import { holdWallet, markListed } from '../drafts/store.ts';
import { insertThing, isOfferListed } from './store.ts';
import type { ListedOffer, ThingToAdd } from './thing-to-add.ts';

/** Puts a thing on the shelf, with the event that says so, and ends its draft. The draft's row is locked before the lock `listings`. */
export async function addThing(tx: Tx, market: Market, { draft, offer, bodyHash, feeId }: ThingToAdd): Promise<bigint> {
  await tx.lock(LISTINGS_LOCK);
  const at = new Date(market.clock.now());
  await holdWallet(tx, draft.sellerWallet);
  await mustBeUnlisted(tx, offer);
  const { chainId } = market.config.network;
  const listingId = await insertThing(tx, { draft, offer, bodyHash, feeId, at, chainId });
  await markListed(tx, draft.id, { listingId, offerId: BigInt(offer.offer_id), at });
  await recordListing(tx, market, {
    ...{ id: listingId, merchantId: draft.merchantId, feeId, priceUnits: draft.priceUnits, aisle: 'world' },
    sellerWallet: draft.sellerWallet,
    about: { offer_id: offer.offer_id },
  });
  return listingId;
}

/** Asked before the fee too. An honest city has one draft for an offer, and of each draft there is one listing. */
export async function mustBeUnlisted(queryable: Queryable, offer: ListedOffer): Promise<void> {
  if (!(await isOfferListed(queryable, offer))) return;
  throw new Refusal('offer_mismatch', {
    detail: 'That offer is listed already.',
    errors: [{ path: 'city_offer_id', message: 'is listed already' }],
  });
}
