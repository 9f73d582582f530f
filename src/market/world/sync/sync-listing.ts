import type { Market } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';
import { hasCheckout } from '../checkouts/store.ts';
import type { OfferDifference } from '../city/compare-offer.ts';
import { CityUnavailable } from '../city/fetch-city.ts';
import { endCanceled, lapseIfLasting } from './end-unsold.ts';
import { findOfWorld } from './find-of-world.ts';
import { presentSync, type SyncAnswer } from './present-sync.ts';
import { readListedOffer } from './read-listed-offer.ts';
import { recordClaimed } from './record-claimed.ts';
import { findSale, noteDifference, notePhase, type WorldListing } from './store.ts';

/**
 * Looks at the offer of a listing, records what has come of it, and says how it stands. As often as wanted, by whomever, in any order: what
 * has ended, or is preserved for a review, is told from the records here.
 */
export async function syncListing(market: Market, payments: Payments, listingId: bigint): Promise<SyncAnswer> {
  const listing = await findOfWorld(market, listingId);
  const mayBePaid = await mayHaveBeenPaid(market, listing);
  if (!isEnded(listing)) await look(market, payments, listing, mayBePaid);
  const after = await findOfWorld(market, listingId);
  const sale = after.state === 'sold' ? await findSale(market.database, listingId) : null;
  // By the records as they stand now, so that a caller who asks again at once is told the same.
  return presentSync(after, sale, await mayHaveBeenPaid(market, after));
}

function isEnded({ state, reviewReason }: WorldListing): boolean {
  return state === 'sold' || state === 'canceled' || reviewReason !== null;
}

/** A buyer who reserved it had a checkout from here, or the city had told of the reservation. */
async function mayHaveBeenPaid({ database }: Market, { id, phase }: WorldListing): Promise<boolean> {
  return (phase !== 'listed' && phase !== 'canceled') || (await hasCheckout(database, id));
}

async function look(market: Market, payments: Payments, listing: WorldListing, mayBePaid: boolean): Promise<void> {
  try {
    const found = await readListedOffer(market, listing);
    if ('differences' in found) return await noteAnother(market, listing, found.differences);
    const { offer } = found;
    if (offer.phase === 'canceled') return await endCanceled(market, listing.id);
    if (offer.phase === 'claimed') return await recordClaimed(market, payments, listing, offer);
    await notePhase(market.database, listing.id, offer.phase, new Date(market.clock.now()));
  } catch (error) {
    throw error instanceof CityUnavailable && mayBePaid ? error.afterPayment() : error;
  }
}

/** The city shows another offer, or none: believed only when it lasts. */
async function noteAnother(market: Market, listing: WorldListing, differences: OfferDifference[]): Promise<void> {
  const { id } = listing;
  await noteDifference(market.database, id, new Date(market.clock.now()));
  await lapseIfLasting(market, id);
  if ((await findOfWorld(market, id)).state === 'stale') return;
  const detail = 'The city shows another offer than the one that was listed, or none. If that lasts, the listing ends.';
  throw new CityUnavailable('differs', { detail, errors: differences });
}
