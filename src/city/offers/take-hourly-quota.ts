import type { CityLimits } from '../../contract/city/endpoints.ts';
import { takeQuota } from '../../platform/database/quotas/take-quota.ts';
import type { City, Resident } from '../context.ts';

type HourlyLimit = Extract<keyof CityLimits, `${string}_per_resident_hour`>;

/** Counts this call of that resident, and refuses it beyond the limit. */
export async function takeHourlyQuota(city: City, name: HourlyLimit, { id }: Resident): Promise<void> {
  const limit = city.config.limits[name];
  await takeQuota(city, { name, subject: id.toString(), limit, windowSeconds: 3_600 });
}
