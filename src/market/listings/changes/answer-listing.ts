import type { ListingDetail } from '../../../contract/listings.ts';
import { readListingDetail } from '../../catalog/read-listing-detail.ts';
import type { Market } from '../../context.ts';

/** What every change of a listing is answered with: how it stands now. */
export async function answerListing(
  market: Market,
  id: bigint,
): Promise<{ status: 200; body: { listing: ListingDetail } }> {
  const listing = await readListingDetail(market.database, id);
  if (listing === null) throw new TypeError('a listing that was just changed is gone');
  return { status: 200, body: { listing } };
}
