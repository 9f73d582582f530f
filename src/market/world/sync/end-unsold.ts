import type { ListingState } from '../../../contract/vocabulary.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import { recordEvent } from '../../events/record-event.ts';
import { isRefused, judgeStep } from '../../listings/listing-steps.ts';
import { closeCheckouts } from '../checkouts/store.ts';
import { lockWorldListing, notePhase, setListingState, type WorldListing } from './store.ts';

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
