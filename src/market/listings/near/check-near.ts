import type { Queryable } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { MEMORY_MS } from '../memory.ts';
import type { Shape } from './shape.ts';
import { findAlike } from './store.ts';

/**
 * Refuses goods that are nearly those of a listing (W6). Who is about to make or change a listing asks under the lock `listings`: there
 * every rival is either seen or comes later, and sees.
 */
export async function checkNear(
  queryable: Queryable,
  market: Pick<Market, 'clock'>,
  shape: Shape | null,
  exempt: readonly bigint[],
): Promise<void> {
  if (shape === null) return;
  const withdrawnSince = new Date(market.clock.now() - MEMORY_MS);
  const alike = await findAlike(queryable, shape, { exempt, withdrawnSince });
  if (alike !== null) throw duplicateOf(alike);
}

/** Names the other listing and nothing about it, nor how alike it is: the guard must not serve to guess hidden goods. */
export function duplicateOf(listingId: bigint): Refusal {
  return new Refusal('duplicate_listing', {
    detail: `Listing ${listingId} has the same goods, or nearly the same.`,
    fields: { listing_id: Number(listingId) },
  });
}
