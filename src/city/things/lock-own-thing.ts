import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { lockThing } from './store.ts';

/** Holds the thing until the transaction ends, if it is the resident's. */
export async function lockOwnThing(tx: Tx, thingId: bigint, residentId: bigint): Promise<void> {
  const thing = await lockThing(tx, thingId);
  if (thing === null) throw new Refusal('not_found', { detail: 'There is no such thing.' });
  if (thing.ownerId !== residentId) throw new Refusal('not_thing_owner');
}
