import { fileURLToPath } from 'node:url';
import type { Resident } from '../../src/city/context.ts';
import { createCity, type RunningCity } from '../../src/city/create-city.ts';
import type { CityLimits } from '../../src/contract/city.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { CITY_PEPPER, cityConfig, seedResident } from '../support/city-context.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Answer,
  type AskOptions,
  askMarket,
  startWorld,
  type World,
  type WorldOptions,
} from '../support/market-world.ts';
import { type LogLine, recordingLog } from '../support/recording-log.ts';

const MIGRATIONS = fileURLToPath(new URL('../../migrations/city', import.meta.url));

export interface Inhabitant extends Resident {
  key: string;
}

export interface CityOptions {
  /** The market's chain, so that both sites see the same transfers. */
  chain: LocalChain;
  marketUrl: string;
  /** Default: any free port. */
  port?: number;
  /** Public URL, if others reach the city through a proxy. */
  baseUrl?: string;
  clock?: Clock;
  sweepEveryMs?: number;
  limits?: Partial<CityLimits>;
  /** Replaces the chain's own RPC URL. With several, the first is the primary. */
  rpcUrl?: string | [string, ...string[]];
  /** Existing database, for a second city on the first one's database or for a proxy. It is not dropped at the end. */
  databaseUrl?: string;
  logCopy?: LogCopyPlace;
}

/** A real city with its own database, on the given chain. */
export interface CityWorld {
  url: string;
  running: RunningCity;
  db: TestDatabase;
  city: RunningCity['city'];
  /** Creates a resident with a key, as registration would. */
  join(handle: string): Promise<Inhabitant>;
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
  logLines: LogLine[];
  stop(): Promise<void>;
}

export async function startCity(options: CityOptions): Promise<CityWorld> {
  const own = options.databaseUrl === undefined ? await createTestDatabase({ site: 'city' }) : null;
  const databaseUrl = own?.url ?? options.databaseUrl ?? '';
  await migrate(databaseUrl, MIGRATIONS);
  const port = options.port ?? (await freePort());
  const { log, lines } = recordingLog();
  const database = await openDatabase({ url: databaseUrl, allowUnsafe: true });
  const { rpcUrl = options.chain.url } = options;
  const running = createCity({
    config: cityConfig({
      port,
      baseUrl: options.baseUrl ?? `http://127.0.0.1:${port}`,
      databaseUrl,
      marketUrl: options.marketUrl,
      rpcUrls: typeof rpcUrl === 'string' ? [rpcUrl] : rpcUrl,
      finalityMinAgeSeconds: 0,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    }),
    database,
    clock: options.clock ?? systemClock,
    random: systemRandom,
    log,
    pepper: CITY_PEPPER,
    sweepEveryMs: options.sweepEveryMs ?? 60_000,
    ...(options.logCopy === undefined ? {} : { logCopy: options.logCopy }),
  });
  const { url } = await running.start();
  const db = { url: databaseUrl, database: own?.database ?? database };
  return {
    url,
    running,
    db,
    city: running.city,
    join: (handle) => joinCity(db, handle),
    ask: (method, path, asked) => askMarket(url, method, path, asked),
    logLines: lines,
    stop: async () => {
      await running.stop({ drainMs: 5_000 });
      await database.close();
      await own?.drop();
    },
  };
}

export async function joinCity({ database }: TestDatabase, handle: string): Promise<Inhabitant> {
  const key = makeMerchantKey(systemRandom, 'city');
  return { ...(await seedResident(database, { handle, keyHash: CITY_PEPPER.hash(key) })), key };
}

export interface BothSites {
  market: World;
  city: CityWorld;
  stop(): Promise<void>;
}

/** Starts a market and a city that know each other, on one chain. Each may have its own clock. */
export async function startBothSites(
  options: {
    market?: Omit<WorldOptions, 'cityUrl' | 'port'>;
    city?: Omit<CityOptions, 'chain' | 'marketUrl' | 'port' | 'databaseUrl'>;
  } = {},
): Promise<BothSites> {
  const [marketPort, cityPort] = [await freePort(), await freePort()];
  const cityUrl = `http://127.0.0.1:${cityPort}`;
  const market = await startWorld({ ...options.market, cityUrl, port: marketPort });
  try {
    const city = await startCity({ ...options.city, chain: market.chain, marketUrl: market.url, port: cityPort });
    return {
      market,
      city,
      stop: async () => {
        await city.stop();
        await market.stop();
      },
    };
  } catch (error) {
    await market.stop();
    throw error;
  }
}
