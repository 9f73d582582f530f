import type { ListingDetail } from '../../contract/listings.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { presentDetail } from './present-listing.ts';
import { readListing } from './store.ts';

export async function readListingDetail(database: Queryable, id: bigint): Promise<ListingDetail | null> {
  const row = await readListing(database, id);
  return row && presentDetail(row);
}
