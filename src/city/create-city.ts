import { cityEndpoints } from '../contract/city/endpoints.ts';
import { checkNetworks } from '../platform/chain/check-networks.ts';
import { createProviders } from '../platform/chain/provider.ts';
import { createProviderHealth } from '../platform/chain/provider-health.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { createHttpServer, type HttpServer } from '../platform/http/create-http-server.ts';
import { refuseUnreadable } from '../platform/http/refuse-unreadable.ts';
import type { Log } from '../platform/log.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';
import type { City, CityConfig } from './context.ts';
import { createSweep } from './offers/sweep.ts';
import { cityOperations } from './operations.ts';
import { createPages } from './pages/create-pages.ts';
import { authenticate } from './residents/authenticate.ts';

export interface CityOptions {
  config: CityConfig;
  database: Database;
  clock: Clock;
  random: Random;
  log: Log;
  pepper: Pepper;
  /** How often open reservations and payments are looked at. */
  sweepEveryMs?: number;
}

export interface RunningCity {
  city: City;
  http: HttpServer;
  sweep: ReturnType<typeof createSweep>;
  /** Checks chain and token, then serves. */
  start(): Promise<{ url: string; port: number }>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. The database stays open. */
  stop(options: { drainMs: number }): Promise<void>;
}

const SWEEP_EVERY_MS = 3_000;
const CHAIN_VARIABLES = { rpcUrls: 'CITY_RPC_URLS', usdc: 'CITY_USDC_ADDRESS' };
/** Keys of either site are refused at both, also where an operator has chosen another prefix. */
const SITE_PREFIXES = ['aisle', 'city'];

/** Puts the city together: the only place that knows all of its parts. */
export function createCity(options: CityOptions): RunningCity {
  const { config, database, clock, random, log, pepper } = options;
  const providers = createProviders(config.rpcUrls, clock);
  const providerHealth = createProviderHealth(providers, clock);
  const city: City = { config, database, clock, random, log, pepper, providers, providerHealth };
  const sweep = createSweep(city, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  const http = createHttpServer({
    endpoints: cityEndpoints,
    operations: cityOperations,
    context: city,
    authenticate: (bearer) => authenticate(city, bearer),
    isMaintainer: () => false,
    callerId: (resident) => resident.id,
    log,
    clock,
    random,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: [...new Set([config.keyPrefix, ...SITE_PREFIXES])],
    trustProxy: false,
    classifyError: refuseUnreadable,
    pages: createPages(city, { sweeps: sweep.isLeader }),
  });
  return {
    city,
    http,
    sweep,
    start: async () => {
      await checkNetworks({ providers, network: config.network, log, variables: CHAIN_VARIABLES });
      sweep.start();
      return await http.listen({ host: config.host, port: config.port });
    },
    stop: async ({ drainMs }) => {
      await http.close({ drainMs });
      await sweep.stop();
    },
  };
}
