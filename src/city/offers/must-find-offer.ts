import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Offer } from './offer.ts';
import { findOffer } from './store.ts';

export async function mustFindOffer(queryable: Queryable, id: bigint): Promise<Offer> {
  const offer = await findOffer(queryable, id);
  if (offer === null) throw new Refusal('not_found', { detail: 'There is no such offer.' });
  return offer;
}
