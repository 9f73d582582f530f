import type { City } from '../context.ts';
import { type ChainHead, readHead } from '../payments/read-head.ts';
import { moveOffer } from './move-offer.ts';
import { type OfferReading, readOffer } from './read-offer.ts';
import { findOffer } from './store.ts';

/**
 * The one way for an offer to move by what the chain shows: everything is read first, outside of any transaction; then one transaction
 * decides, on the offer as it stands by then. Null where the offer is not held.
 */
export async function look(
  city: City,
  offerId: bigint,
  readHeadNow: () => Promise<ChainHead> = () => readHead(city),
): Promise<OfferReading | null> {
  const offer = await findOffer(city.database, offerId);
  if (offer === null || offer.reservation === null) return null;
  if (offer.phase !== 'reserved' && offer.phase !== 'payment_pending') return null;
  const reading = await readOffer(city, offer, offer.reservation, readHeadNow);
  await moveOffer(city, reading);
  return reading;
}
