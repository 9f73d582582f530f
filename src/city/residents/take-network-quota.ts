import type { CityLimits } from '../../contract/city/endpoints.ts';
import { takeClientQuota } from '../../platform/database/quotas/take-client-quota.ts';
import type { City } from '../context.ts';

type NetworkLimit = Extract<keyof CityLimits, `${string}_per_ip_hour`>;

/** Counts this call of that client network and its site, and refuses it beyond the limit. */
export async function takeNetworkQuota(
  city: Pick<City, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const { [name]: limit, networks_per_site: networksPerSite } = city.config.limits;
  await takeClientQuota(city, { name, clientNetwork, limit, networksPerSite, windowSeconds: 3_600 });
}
