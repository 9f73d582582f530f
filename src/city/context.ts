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

/** The CITY_ variables of W14, checked at start. */
export interface CityConfig {
  host: string;
  port: number;
  /** Without a trailing slash. */
  baseUrl: string;
  databaseUrl: string | null;
  /** How many connections it may have, with a successor's; null: a pool of 16. */
  databaseConnections: number | null;
  dataDir: string;
  /** Where this host keeps its copy of the log of acts; null: in the data folder. */
  logCopyDir: string | null;
  /** Origin of the market whose drafts and checkouts are read. */
  marketUrl: string;
  /** With the configured USDC address in it. */
  network: Network;
  /** The first is the primary. */
  rpcUrls: readonly [string, ...string[]];
  finalityMinAgeSeconds: number;
  limits: CityLimits;
  pepperFile: string | null;
  keyPrefix: string;
}

/** Who a key belongs to. */
export interface Resident {
  id: bigint;
  handle: string;
}

/** Everything that operations of the city share. Built once; tests hand in their own clock, chance and addresses. */
export interface City {
  config: CityConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  /** All of them, in the order in which they lead. */
  providers: readonly [Provider, ...Provider[]];
  /** How they stand, as far as this process has seen. */
  providerHealth: ProvidersHealth;
  pepper: Pepper;
  /** A part of the books was lost: nothing is written until the operator has recovered it. Known without asking. */
  isLost(): boolean;
}

export type CityCall<E extends EndpointShape> = Call<E, Resident>;
export type CityOperation<E extends EndpointShape> = Operation<E, City, Resident>;

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
