import { checksummed } from '../../contract/chain-values.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { findLostListing } from './store.ts';

/** For an id without a listing: after a loss of history the listing may have been shown, and a buyer may have paid for it (W16). */
export async function mustNotBeLost(queryable: Queryable, id: bigint): Promise<void> {
  const lost = await findLostListing(queryable, id);
  if (lost === null) return;
  throw new Refusal('listing_lost', lost.payee === null ? {} : { fields: { payee: checksummed(lost.payee) } });
}
