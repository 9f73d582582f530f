import { cityEndpoints } from '../contract/city/endpoints.ts';
import { checkNetworks } from '../platform/chain/check-networks.ts';
import { createProviders } from '../platform/chain/provider.ts';
import { createProviderHealth } from '../platform/chain/provider-health.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { createHttpServer, type HttpServer } from '../platform/http/create-http-server.ts';
import type { Log } from '../platform/log.ts';
import { createHistory, type History } from '../platform/log-copy/history.ts';
import { historyLost } from '../platform/log-copy/history-lost.ts';
import type { LogCopyPlace } from '../platform/log-copy/place.ts';
import type { Losses } from '../platform/log-copy/store.ts';
import type { Pepper } from '../platform/pepper.ts';
import type { Random } from '../platform/random.ts';
import type { City, CityConfig } from './context.ts';
import { guardHistory, refuseByDatabase } from './history/guard-history.ts';
import { readLosses } from './history/store.ts';
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
  /** Where this host copies the log of acts to; without it only what others notice is heard of. */
  logCopy?: LogCopyPlace;
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
  const history = watchOver(options);
  const { isLost } = history;
  const city: City = { config, database, clock, random, log, pepper, providers, providerHealth, isLost };
  const sweep = createSweep(city, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  const http = createHttpServer({
    endpoints: cityEndpoints,
    operations: guardHistory(isLost, cityOperations),
    context: city,
    authenticate: async (bearer) => {
      // Who registered in what was lost must not be told that the key is wrong.
      if (isLost()) throw historyLost();
      return await authenticate(city, bearer);
    },
    isMaintainer: () => false,
    callerId: (resident) => resident.id,
    log,
    clock,
    random,
    docsUrl: (reason) => `${config.baseUrl}/docs/errors/${reason}`,
    secretPrefixes: [...new Set([config.keyPrefix, ...SITE_PREFIXES])],
    trustProxy: false,
    classifyError: refuseByDatabase,
    pages: createPages(city, { sweeps: sweep.isLeader, memory: history.memory }),
  });
  return {
    city,
    http,
    sweep,
    start: async () => {
      await checkNetworks({ providers, network: config.network, log, variables: CHAIN_VARIABLES });
      await history.start();
      sweep.start();
      return await http.listen({ host: config.host, port: config.port });
    },
    stop: async ({ drainMs }) => {
      await http.close({ drainMs });
      await sweep.stop();
      await history.stop();
    },
  };
}

/** More than there will ever be: no tail of the log tells this process how far it goes, so that it asks. */
const UNKNOWN_ID = 2n ** 63n - 1n;

function watchOver({ database, clock, log, logCopy }: CityOptions): History<Losses> {
  // Nothing of the books is kept in memory.
  const onOtherHistory = (): void => {};
  return createHistory({
    ...{ database, clock, log, place: logCopy ?? null, readLosses, onOtherHistory },
    newestId: () => UNKNOWN_ID,
  });
}
