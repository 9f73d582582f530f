import type { CityLimits } from '../contract/city.ts';
import { takeClientQuota, takeQuota } from '../platform/database/quota.ts';
import type { City, Resident } from './context.ts';

type HourlyLimit = Extract<keyof CityLimits, `${string}_per_resident_hour`>;

/** Counts this call of that resident, and refuses it beyond the limit. */
export async function takeHourlyQuota(city: City, name: HourlyLimit, { id }: Resident): Promise<void> {
  const limit = city.config.limits[name];
  await takeQuota(city, { name, subject: id.toString(), limit, windowSeconds: 3_600 });
}

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
