import type { OfferOut } from '../../../contract/world-records.ts';
import type { Market } from '../../context.ts';
import { compareOffer, type OfferDifference } from '../city/compare-offer.ts';
import { CityUnavailable, cityOrigin, readOffer } from '../city/fetch-city.ts';
import type { WorldListing } from './store.ts';

/** The offer as the city shows it now, or in what it is not the one that was listed. */
export type ListedOffer = { offer: OfferOut } | { differences: OfferDifference[] };

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
