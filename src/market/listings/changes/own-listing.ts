import { Refusal } from '../../../platform/refusal.ts';
import type { Merchant } from '../../context.ts';
import type { ChangingListing } from './store.ts';

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
