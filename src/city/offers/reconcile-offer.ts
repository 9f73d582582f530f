import type { CityEndpoints } from '../../contract/city/endpoints.ts';
import type { CityOperation } from '../context.ts';
import { look } from './look.ts';
import { mustFindOffer } from './must-find-offer.ts';
import { presentOffer } from './present-offer.ts';
import { takeHourlyQuota } from './take-hourly-quota.ts';

/** POST /api/world/offer/:id/reconcile, for any resident: what the background pass does, now. */
export const reconcileOffer: CityOperation<CityEndpoints['reconcileOffer']> = async (city, { params, caller }) => {
  await takeHourlyQuota(city, 'reconciles_per_resident_hour', caller);
  await mustFindOffer(city.database, params.id);
  await look(city, params.id);
  return { status: 200, body: { offer: presentOffer(city, await mustFindOffer(city.database, params.id)) } };
};
