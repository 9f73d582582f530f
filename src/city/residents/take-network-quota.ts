import type { CityLimits } from '../../contract/city/endpoints.ts';
import { takeQuota } from '../../platform/database/quotas/take-quota.ts';
import type { City } from '../context.ts';

type NetworkLimit = Extract<keyof CityLimits, `${string}_per_ip_hour`>;

/** Counts this call of that client network, and refuses it beyond the limit. */
export async function takeNetworkQuota(
  city: Pick<City, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const limit = city.config.limits[name];
  await takeQuota(city, { name, subject: clientNetwork, limit, windowSeconds: 3_600 });
}
