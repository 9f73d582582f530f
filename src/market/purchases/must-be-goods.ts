import { Refusal } from '../../platform/refusal.ts';
import type { ListingTerms } from '../listings/store.ts';

/** A thing changes hands in its city: here nobody is asked for money for it, in whatever state it is, and there is nothing to collect. */
export function mustBeGoods({ id, isThing }: Pick<ListingTerms, 'id' | 'isThing'>): void {
  if (!isThing) return;
  throw new Refusal('checkout_needed', {
    detail: `Listing ${id} is a thing of the city: POST /api/world/checkout/${id} opens the way to it.`,
  });
}
