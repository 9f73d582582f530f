import { DEFAULT_LIMITS, IDENTITY_ENDPOINTS, type Limits, NETWORKS } from '../../src/contract/vocabulary.ts';
import { createMarketCatalog, type MarketCatalog } from '../../src/market/catalog/market-catalog.ts';
import type { Market } from '../../src/market/context.ts';
import { createEventTail, type EventTail } from '../../src/market/events/read-events.ts';
import { createProviders } from '../../src/platform/chain/providers.ts';
import { createRpc } from '../../src/platform/chain/rpc.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { recordingLog } from './recording-log.ts';

/** Generous request budgets, because all calls of a test come from one address. */
export const WIDE_BUDGETS = {
  ...{ networks_per_site: 1_000, intents_per_merchant_hour: 1_000_000, intents_per_ip_hour: 1_000_000 },
  ...{ attempts_per_ip_hour: 1_000_000, attempts_per_merchant_hour: 1_000_000, attempts_per_hour: 10_000_000 },
  ...{ chain_reads_per_ip_minute: 1_000_000, chain_reads_per_merchant_minute: 1_000_000 },
  ...{ chain_reads_per_wallet_minute: 1_000_000, chain_reads_per_minute: 10_000_000 },
  ...{ read_ms_per_ip_minute: 1_000_000, read_ms_per_minute: 10_000_000 },
  ...{ store_megabytes_per_ip_hour: 1_000_000, store_megabytes_per_hour: 10_000_000 },
  ...{ upload_megabytes_per_ip_hour: 1_000_000, upload_megabytes_per_merchant_hour: 1_000_000 },
  ...{ upload_megabytes_per_hour: 10_000_000 },
} satisfies Partial<Limits>;

/** OPENAISLE_LIMITS for tests whose calls all come from one address. */
export const WIDE_LIMITS = JSON.stringify({
  ...WIDE_BUDGETS,
  registration_per_ip_hour: 1_000,
  confirm_per_ip_hour: 1_000,
  rotation_starts_per_ip_hour: 1_000,
  rotation_per_merchant_day: 1_000,
  recovery_starts_per_ip_hour: 1_000,
});

export interface SettableClock extends Clock {
  set(nowMs: number): void;
}

/** Returns a clock that stands still until set. Sleeps take real time, so that polling does not spin. */
export function settableClock(startMs: number): SettableClock {
  let current = startMs;
  return {
    now: () => current,
    sleep: systemClock.sleep,
    set: (nowMs) => {
      current = nowMs;
    },
  };
}

const CATALOG_BYTES = 64 * 1_048_576;

/** A market together with the catalog that its reads use. */
export interface TestMarket extends Market {
  catalog: MarketCatalog;
  events: EventTail;
}

/** Returns a market for operations that use neither the chain nor a facilitator; the URLs of both are dummies. */
export function marketContext(options: {
  database: Database;
  clock?: Clock;
  limits?: Partial<Limits>;
  changes?: Partial<Market>;
}): TestMarket {
  const log = recordingLog().log;
  const clock = options.clock ?? systemClock;
  const pepper = createPepperFrom(new Map([[1, Buffer.alloc(32, 7)]]));
  const events = createEventTail();
  const { database } = options;
  // The catalog does not poll; `ask` refreshes it before each call.
  const catalog = createMarketCatalog({
    database,
    clock,
    log,
    pepper,
    memoryBytes: CATALOG_BYTES,
    followers: [events],
  });
  return {
    config: {
      host: '127.0.0.1',
      port: 0,
      metricsPort: 0,
      workers: 1,
      baseUrl: 'http://127.0.0.1:4020',
      databaseUrl: null,
      databaseConnections: null,
      dataDir: '/nonexistent',
      logCopyDir: null,
      network: NETWORKS.base,
      rpcUrls: ['http://127.0.0.1:1'],
      finalityMinAgeSeconds: 300,
      treasury: '0x1111111111111111111111111111111111111111',
      facilitatorUrl: 'http://127.0.0.1:1',
      facilitatorAuth: null,
      cityUrl: null,
      pepperFile: null,
      s3: null,
      keyPrefix: 'aisle',
      deploymentCommit: null,
      sourceUrl: null,
      explorerUrl: null,
      contactUrl: null,
      limits: { ...DEFAULT_LIMITS, ...WIDE_BUDGETS, ...options.limits },
      clientNetworkLimits: [],
      catalogMemoryBytes: CATALOG_BYTES,
      openIdentityEndpoints: new Set(IDENTITY_ENDPOINTS),
      hostedHosts: [],
      trustProxy: false,
    },
    database,
    clock,
    random: systemRandom,
    log,
    rpc: createRpc({ url: 'http://127.0.0.1:1' }),
    providers: createProviders(['http://127.0.0.1:1'], clock),
    pepper,
    objectStore: null,
    catalog,
    events,
    wakeEvents: () => {},
    hasRecentRecovery: () => false,
    crashPoint: () => {},
    ...options.changes,
  };
}
