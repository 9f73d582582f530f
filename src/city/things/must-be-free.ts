import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { findOpenOffer } from './store.ts';

/** To be asked under the lock of the thing's row. */
export async function mustBeFree(tx: Tx, thingId: bigint): Promise<void> {
  const offerId = await findOpenOffer(tx, thingId);
  if (offerId !== null) throw new Refusal('thing_locked', { fields: { offer_id: Number(offerId) } });
}
