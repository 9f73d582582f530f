import type { ListingDetail } from '../../../contract/listings.ts';

/** Whether what its merchant wrote may be shown where the page itself is not: not of what is off the market. */
export function isShown({ state, removed }: Pick<ListingDetail, 'state' | 'removed'>): boolean {
  return !removed && (state === 'live' || state === 'sold');
}
