import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';
import { cityOrigin } from '../city/fetch-city.ts';
import { syncListing } from './sync-listing.ts';

/** POST /api/world/sync/:listing_id (W12). Any key: it tells what is public, and the background pass does the same. */
export function makeSyncWorld(payments: Payments): MarketOperation<Endpoints['syncWorld']> {
  return async (market, call) => {
    cityOrigin(market);
    return { status: 200, body: await syncListing(market, payments, call.params.listing_id) };
  };
}
