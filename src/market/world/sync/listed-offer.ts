import type { ListingState } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import type { Tx } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { mustExist, mustNotBeLost } from '../../listings/check-goods.ts';
import { isRefused, judgeStep } from '../../listings/listing-steps.ts';
import { findListingTerms } from '../../listings/store.ts';
import { CityUnavailable, cityOrigin, compareOffer, type OfferDifference, readOffer } from '../city.ts';
import { closeCheckouts } from '../store.ts';
import { findWorldListing, lockWorldListing, notePhase, setListingState, type WorldListing } from './store.ts';

/** The offer as the city shows it now, or in what it is not the one that was listed. */
type ListedOffer = { offer: OfferOut } | { differences: OfferDifference[] };

/** Throws CityUnavailable where the city says nothing that can be used. */
export async function readListedOffer(
  market: Pick<Market, 'config' | 'log'>,
  listing: WorldListing,
): Promise<ListedOffer> {
  mustBeLinkedCity(market, listing);
  const offer = await readOffer(market, listing.offerId);
  if (offer === null) {
    return { differences: [{ path: 'id', message: `there is no offer ${listing.offerId} in the city` }] };
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

/** The numbers of one city mean nothing in another. */
function mustBeLinkedCity(market: Pick<Market, 'config'>, { cityOrigin: listedOf }: WorldListing): void {
  if (listedOf === cityOrigin(market)) return;
  const detail = `This thing is of the city at ${listedOf}, and this market is linked with another one now.`;
  throw new CityUnavailable('unusable', { detail });
}

/** The listing of a thing; refuses what is none. */
export async function findOfWorld({ database }: Pick<Market, 'database'>, id: bigint): Promise<WorldListing> {
  const found = await findWorldListing(database, id);
  if (found !== null) return found;
  const other = await findListingTerms(database, id);
  if (other === null) await mustNotBeLost(database, id);
  mustExist(other);
  throw new Refusal('not_world_listing');
}

/** Where the act leads now; null where it leads nowhere, or has led there before. What is preserved for a review stays as it is. */
export function endBy(
  listing: WorldListing | null,
  act: 'world_sale' | 'world_cancel' | 'world_lapse',
): { listing: WorldListing; state: ListingState } | null {
  if (listing === null || listing.reviewReason !== null) return null;
  const state = judgeStep(listing, act);
  return isRefused(state) || state === 'nothing' || state === 'same' ? null : { listing, state };
}

/**
 * How long the city has to show another offer, or none, until the listing is given up. It is for good, and a city behind a cache, or one
 * that is just being restored, shows something old for minutes.
 */
export const STALE_AFTER_MS = 600_000;

/** The city calls the offer canceled: no resident can buy by it any more. */
export async function endCanceled(market: Market, listingId: bigint): Promise<void> {
  await market.database.transaction(async (tx) => {
    const end = endBy(await lockWorldListing(tx, listingId), 'world_cancel');
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

/** The offer that was listed is not there any more. A sale by it is recorded all the same, should the city show one. */
export async function lapseIfLasting(market: Market, listingId: bigint): Promise<void> {
  await market.database.transaction((tx) => lapse(tx, market, listingId));
}

async function lapse(tx: Tx, market: Market, listingId: bigint): Promise<void> {
  const end = endBy(await lockWorldListing(tx, listingId), 'world_lapse');
  // Another look may have found the offer as it was meanwhile.
  const since = end?.listing.differsSince ?? null;
  if (end === null || since === null || market.clock.now() - since.getTime() < STALE_AFTER_MS) return;
  await setListingState(tx, listingId, end.state);
  await closeCheckouts(tx, listingId);
}
