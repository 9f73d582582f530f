import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { mustExist, mustNotBeLost } from '../../listings/listing-checks.ts';
import { findListingTerms } from '../../listings/store.ts';
import { findWorldListing, type WorldListing } from './store.ts';

/** The listing of a thing; refuses what is none. */
export async function findOfWorld({ database }: Pick<Market, 'database'>, id: bigint): Promise<WorldListing> {
  const found = await findWorldListing(database, id);
  if (found !== null) return found;
  const other = await findListingTerms(database, id);
  if (other === null) await mustNotBeLost(database, id);
  mustExist(other);
  throw new Refusal('not_world_listing');
}
