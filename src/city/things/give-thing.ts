import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { CityOperation } from '../context.ts';
import { lockOwnThing } from './lock-own-thing.ts';
import { mustBeFree } from './must-be-free.ts';
import { readThing } from './read-thing.ts';
import { findResidentId, moveThing } from './store.ts';

/** A gift: at once, and for good. Giving to oneself changes nothing. */
export const giveThing: CityOperation<CityEndpoints['giveThing']> = async (city, { params, body, caller }) => {
  await city.database.transaction(async (tx) => {
    await lockOwnThing(tx, params.id, caller.id);
    await mustBeFree(tx, params.id);
    const to = await findResidentId(tx, body.to.trim().replace(/^@/, '').toLowerCase());
    if (to === null) throw new Refusal('not_found', { detail: 'There is no resident of that handle.' });
    if (to === caller.id) return;
    await moveThing(tx, { thingId: params.id, to, at: new Date(city.clock.now()), offerId: null });
  });
  return { status: 200, body: { thing: await readThing(city, params.id) } };
};
