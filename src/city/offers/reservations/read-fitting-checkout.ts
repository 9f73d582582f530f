import type { CheckoutOut } from '../../../contract/world-records.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { City, Resident } from '../../context.ts';
import { readCheckout } from '../../market/fetch-market.ts';
import type { Offer } from '../offer.ts';

/** The checkout as the market shows it now. It has to be open, of this offer, and made out to the caller. */
export async function readFittingCheckout(
  city: City,
  offer: Offer,
  caller: Resident,
  checkoutId: bigint,
): Promise<CheckoutOut> {
  const checkout = await readCheckout(city, checkoutId);
  if (checkout === null) throw mismatch('The market has no such checkout.');
  if (checkout.city_offer_id !== Number(offer.id)) throw mismatch(`It is for the offer ${checkout.city_offer_id}.`);
  if (checkout.city_handle !== caller.handle) throw mismatch(`It is made out to ${checkout.city_handle}.`);
  if (checkout.market_buyer === offer.marketSeller) throw mismatch('Its buyer is the seller.');
  if (checkout.state !== 'open') throw mismatch(`It is ${checkout.state}, not open.`);
  if (Date.parse(checkout.expires_at) <= city.clock.now()) throw mismatch('It has expired.');
  mustFitListing(offer, checkout);
  return checkout;
}

/** The first reservation says which listing it is; another one of the same offer is none. */
export function mustFitListing({ marketListingId }: Offer, { listing_id }: CheckoutOut): void {
  if (marketListingId === null || marketListingId === BigInt(listing_id)) return;
  throw mismatch(`It is for the listing ${listing_id}, and this offer is listed as ${marketListingId}.`);
}

function mismatch(detail: string): Refusal {
  return new Refusal('checkout_mismatch', { detail });
}
