import type { CityLimits } from '../contract/city.ts';
import type { EndpointShape } from '../contract/endpoint.ts';
import type { Network } from '../contract/vocabulary.ts';
import type { Provider, ProvidersHealth } from '../platform/chain/providers.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { takeClientQuota, takeQuota } from '../platform/database/quota.ts';
import type { Call, Operation } from '../platform/http/operation.ts';
import type { Log } from '../platform/log.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';

export interface CityConfig {
  host: string;
  port: number;
  /** Public address, without a trailing slash. */
  baseUrl: string;
  databaseUrl: string | null;
  /** Maximum database connections of this process and its successor together. Null for a pool of 16. */
  databaseConnections: number | null;
  dataDir: string;
  /** Folder of this host's copy of the log. Null for inside the data folder. */
  logCopyDir: string | null;
  marketUrl: string;
  /** Includes the configured USDC address. */
  network: Network;
  /** The first URL is the primary. */
  rpcUrls: readonly [string, ...string[]];
  finalityMinAgeSeconds: number;
  limits: CityLimits;
  pepperFile: string | null;
  keyPrefix: string;
}

export interface Resident {
  id: bigint;
  handle: string;
}

/** State shared by the city's operations. Built once at start; tests pass their own clock, randomness and addresses. */
export interface City {
  config: CityConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** Chain providers, in the order in which one of them is chosen as the leading one. */
  providers: readonly [Provider, ...Provider[]];
  providerHealth: ProvidersHealth;
  pepper: Pepper;
  /** True if part of the history was lost, and nothing may be written until the operator has recovered it. Reads memory only. */
  isLost(): boolean;
}

export type CityCall<E extends EndpointShape> = Call<E, Resident>;
export type CityOperation<E extends EndpointShape> = Operation<E, City, Resident>;

type HourlyLimit = Extract<keyof CityLimits, `${string}_per_resident_hour`>;

export async function takeHourlyQuota(city: City, name: HourlyLimit, { id }: Resident): Promise<void> {
  const limit = city.config.limits[name];
  await takeQuota(city, { name, subject: id.toString(), limit, windowSeconds: 3_600 });
}

type NetworkLimit = Extract<keyof CityLimits, `${string}_per_ip_hour`>;

/** Counts this call for the client network and for the larger network around it (its site). Refuses the call above either limit. */
export async function takeNetworkQuota(
  city: Pick<City, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const { [name]: limit, networks_per_site: networksPerSite } = city.config.limits;
  await takeClientQuota(city, { name, clientNetwork, limit, networksPerSite, windowSeconds: 3_600 });
}
