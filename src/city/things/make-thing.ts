import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import { takeQuota } from '../../platform/database/quotas/take-quota.ts';
import type { CityOperation } from '../context.ts';
import { readThing } from './read-thing.ts';
import { insertThing } from './store.ts';

const DAY_SECONDS = 86_400;

/** Things are unique by their number; many may bear one name. */
export const makeThing: CityOperation<CityEndpoints['makeThing']> = async (city, { body, caller }) => {
  const { clock, config, database } = city;
  await takeQuota(city, {
    name: 'things_per_resident_day',
    subject: String(caller.id),
    limit: config.limits.things_per_resident_day,
    windowSeconds: DAY_SECONDS,
  });
  const id = await database.transaction(async (tx) => {
    await tx.lock('things');
    return insertThing(tx, { name: body.name, makerId: caller.id, at: new Date(clock.now()) });
  });
  return { status: 201, body: { thing: await readThing(city, id) } };
};
