import { checksummed } from '../../contract/chain-values.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, Merchant } from '../context.ts';
import type { ChangingListing } from './changes/store.ts';
import { findLostListing, type ListingTerms } from './store.ts';

/** The listing, if there is one and it is the caller's. A listing is public, so a foreign one is not denied to exist (W2). */
export function mustOwn(listing: ChangingListing | null, caller: Merchant): ChangingListing {
  const found = mustExist(listing);
  if (found.merchantId !== caller.id) throw new Refusal('not_owner');
  return found;
}

export function mustExist<T>(listing: T | null): T {
  if (listing === null) throw new Refusal('not_found', { detail: 'There is no listing with that id.' });
  return listing;
}

/** For an id without a listing: after a loss of history the listing may have been shown, and a buyer may have paid for it (W16). */
export async function mustNotBeLost(queryable: Queryable, id: bigint): Promise<void> {
  const lost = await findLostListing(queryable, id);
  if (lost === null) return;
  throw new Refusal('listing_lost', lost.payee === null ? {} : { fields: { payee: checksummed(lost.payee) } });
}

/** A wallet of another chain may belong to another owner here, or to a contract that does not exist here: nothing is paid to it. */
export function mustBeOnNetwork({ config: { network } }: Pick<Market, 'config'>, { chainId }: ListingTerms): void {
  if (chainId === null || chainId === network.chainId) return;
  const detail = `The listing is of chain ${chainId}, and this market takes payments on ${network.displayName}.`;
  throw new Refusal('listing_unavailable', { detail });
}
