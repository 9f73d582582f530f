import type { ListingState } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { mustExist, mustNotBeLost } from '../../listings/check-goods.ts';
import { isRefused, judgeStep } from '../../listings/listing-steps.ts';
import { findListingTerms } from '../../listings/store.ts';
import { CityUnavailable, cityOrigin, compareOffer, type OfferDifference, readOffer } from '../city.ts';
import { closeCheckouts } from '../store.ts';
import { findWorldListing, lockWorldListing, notePhase, setListingState, type WorldListing } from './store.ts';

type ListedOffer = { offer: OfferOut } | { differences: OfferDifference[] };

/** Throws CityUnavailable if the city gives no usable answer, or if the listing belongs to another city. */
export async function readListedOffer(
  market: Pick<Market, 'config' | 'log'>,
  listing: WorldListing,
): Promise<ListedOffer> {
  mustBeLinkedCity(market, listing);
  const offer = await readOffer(market, listing.offerId);
  if (offer === null) {
    return { differences: [{ path: 'id', message: `the city has no offer ${listing.offerId}` }] };
  }
  const differences = compareOffer(offer, {
    offerId: listing.offerId,
    thingId: listing.thingId,
    seller: listing.sellerHandle,
    sellerWallet: listing.sellerWallet,
    priceUnits: listing.priceUnits,
    marketOrigin: market.config.baseUrl,
    chainId: market.config.network.chainId,
    draftId: listing.draftId,
    listingId: listing.id,
  });
  return differences.length === 0 ? { offer } : { differences };
}

/** Refuses a listing of another city, because its ids mean nothing in this one. */
function mustBeLinkedCity(market: Pick<Market, 'config'>, { cityOrigin: listedOf }: WorldListing): void {
  if (listedOf === cityOrigin(market)) return;
  const detail = `This thing belongs to the city at ${listedOf}, but this market is linked with another city now.`;
  throw new CityUnavailable('unusable', { detail });
}

/** Finds the listing of a thing, and refuses any other id. */
export async function findThingListing({ database }: Pick<Market, 'database'>, id: bigint): Promise<WorldListing> {
  const listing = await findWorldListing(database, id);
  if (listing !== null) return listing;
  const other = await findListingTerms(database, id);
  if (other === null) await mustNotBeLost(database, id);
  mustExist(other);
  throw new Refusal('not_world_listing');
}

/** Returns the state after the act. Null if there is no listing, the listing is in review, or the act is not allowed or already done. */
export function nextStateBy(
  listing: WorldListing | null,
  act: 'world_sale' | 'world_cancel' | 'world_lapse',
): { listing: WorldListing; state: ListingState } | null {
  if (listing === null || listing.reviewReason !== null) return null;
  const state = judgeStep(listing, act);
  return isRefused(state) || state === 'nothing' || state === 'same' ? null : { listing, state };
}

/**
 * A listing ends if the city shows a different offer, or none, for this long. A cache, or a city restored from a backup, may show old data
 * for minutes.
 */
export const STALE_AFTER_MS = 600_000;

/** Ends the listing of an offer that the city calls canceled, because nobody can buy it any more. */
export async function endCanceled(market: Market, listingId: bigint): Promise<void> {
  await market.database.transaction(async (tx) => {
    const end = nextStateBy(await lockWorldListing(tx, listingId), 'world_cancel');
    if (end === null) return;
    const { listing, state } = end;
    await notePhase(tx, listingId, 'canceled', new Date(market.clock.now()));
    await setListingState(tx, listingId, state);
    await closeCheckouts(tx, listingId);
    await recordEvent(tx, market, {
      kind: 'world_canceled',
      actor: 'system',
      detail: {
        listing_id: Number(listingId),
        merchant_id: Number(listing.merchantId),
        offer_id: Number(listing.offerId),
      },
    });
  });
}

/** Ends a listing whose offer has differed for long enough. A sale is still recorded if the city shows one. */
export async function endIfStale(market: Market, listingId: bigint): Promise<void> {
  await market.database.transaction(async (tx) => {
    const end = nextStateBy(await lockWorldListing(tx, listingId), 'world_lapse');
    // Another check may have seen the listed offer again meanwhile.
    const since = end?.listing.differsSince ?? null;
    if (end === null || since === null || market.clock.now() - since.getTime() < STALE_AFTER_MS) return;
    await setListingState(tx, listingId, end.state);
    await closeCheckouts(tx, listingId);
  });
}
