import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import {
  LOCK_CONNECTIONS,
  MAX_POOL_SIZE,
  MIN_POOL_SIZE,
  readConnectionRoom,
  shareBudget,
} from '../platform/database/connection.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import type { Log } from '../platform/log.ts';
import { openLogCopyPlace } from '../platform/log-copy/place.ts';
import { startMetricsServer } from '../platform/metrics-server.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { type ServerRun, undoOnFailure } from '../platform/shutdown.ts';
import type { CrashPoint, MarketConfig } from './context.ts';
import { createMarket } from './create-market.ts';
import { createMetrics, type Metrics, type MetricsText } from './create-metrics.ts';
import { type OpenObjectStore, openObjectStore } from './goods/s3-store.ts';
import { prepareDatabase } from './prepare-database.ts';

export interface RunMarketOptions {
  config: MarketConfig;
  log: Log;
  crashPoint?: (name: CrashPoint) => void;
}

/** A running market, in this process or in child processes. */
export interface MarketRun extends ServerRun {
  /** Resolves if the child processes cannot be kept alive. */
  failed: Promise<void>;
}

/** Runs the whole market in this process. Cleans up if the start fails. */
export function runMarket({ config, log, crashPoint }: RunMarketOptions): Promise<MarketRun> {
  return undoOnFailure(async (begun) => {
    await checkObjectStore(config, log);
    const prepared = await prepareDatabase(config, log);
    begun.defer(() => prepared.stop());
    const metrics = createMetrics({ worker: '1', withProcess: config.metricsPort !== 0 });
    const metricsServer = await serveMetrics(config, () => metrics, log);
    begun.defer(() => metricsServer.close());
    const market = await serveMarket({
      config,
      log,
      databaseUrl: prepared.url,
      poolSize: await sizePools(config, prepared.url),
      metrics,
      ...(crashPoint === undefined ? {} : { crashPoint }),
    });
    log.info('market_listening', { url: market.url, port: market.port, network: config.network.name });
    return {
      databaseEnded: prepared.ended,
      failed: new Promise(() => {}),
      stopServing: market.stopServing,
      steps: [
        { name: 'metrics', close: metricsServer.close },
        { name: 'database', close: market.closeDatabase },
        { name: 'postgres', close: () => prepared.stop() },
      ],
    };
  });
}

interface ServeMarketOptions {
  config: MarketConfig;
  log: Log;
  databaseUrl: string;
  /** Null for the default size. */
  poolSize: number | null;
  metrics: Metrics;
  crashPoint?: (name: CrashPoint) => void;
}

interface ServedMarket {
  url: string;
  port: number;
  stopServing(options: { drainMs: number }): Promise<void>;
  closeDatabase(): Promise<void>;
}

/** Starts one web process on a prepared database. The port opens last. Cleans up if the start fails. */
export function serveMarket(options: ServeMarketOptions): Promise<ServedMarket> {
  const { config, metrics, poolSize, crashPoint } = options;
  return undoOnFailure(async (begun) => {
    const database = await openDatabase({
      url: options.databaseUrl,
      applicationName: 'openaisle-market',
      log: options.log,
      ...(poolSize === null ? {} : { poolSize }),
    });
    begun.defer(() => database.close());
    const objectStore = await openStore(config, options.log);
    begun.defer(() => objectStore?.close());
    const running = createMarket({
      config,
      database,
      clock: systemClock,
      random: systemRandom,
      log: countRequests(options.log, metrics.countRequest),
      pepper: await loadOwnPepper(config),
      objectStore,
      logCopy: await openLogCopyPlace(config, {
        random: systemRandom,
        log: options.log,
        variable: 'OPENAISLE_LOG_COPY_DIR',
      }),
      metrics,
      ...(crashPoint === undefined ? {} : { crashPoint }),
    });
    // Stop it even if start() fails, because jobs that have started would otherwise keep querying a closed database.
    begun.defer(() => running.stop({ drainMs: 0 }));
    const { url, port } = await running.start();
    const stopServing: ServedMarket['stopServing'] = async (how) => {
      await running.stop(how);
      objectStore?.close();
    };
    return { url, port, stopServing, closeDatabase: () => database.close() };
  });
}

async function openStore({ s3 }: Pick<MarketConfig, 's3'>, log: Log): Promise<OpenObjectStore | null> {
  return s3 === null ? null : await openObjectStore(s3, { clock: systemClock, random: systemRandom, log });
}

/** Checks the configured store once, in the first process. Throws if it cannot be used, because uploads would be refused. */
export async function checkObjectStore(config: Pick<MarketConfig, 's3'>, log: Log): Promise<void> {
  const store = await openStore(config, log);
  await store?.check().finally(store.close);
}

/** Counts requests from the access log's lines, so that metrics and log cannot differ. */
export function countRequests(log: Log, count: (route: string, status: number, budget?: string) => void): Log {
  return {
    ...log,
    info: (event, fields) => {
      if (event === 'request' && fields !== undefined) {
        const { route, status, budget } = fields;
        count(String(route), Number(status), typeof budget === 'string' ? budget : undefined);
      }
      log.info(event, fields);
    },
    with: (fields) => countRequests(log.with(fields), count),
  };
}

/** Share of the server's connections. The rest is for tools, and for a successor that starts while this market stops. */
const CONNECTION_SHARE = 0.8;
/** Returns the size of each process's pool. Null (the default size) for a single process without a configured budget. */
export async function sizePools(
  { workers, databaseConnections: budget }: Pick<MarketConfig, 'workers' | 'databaseConnections'>,
  url: string,
): Promise<number | null> {
  if (budget !== null) {
    const named = { variable: 'OPENAISLE_DATABASE_CONNECTIONS', forWhat: `with OPENAISLE_WORKERS ${workers}` };
    return shareBudget({ ...named, connections: budget, processes: workers }, await readConnectionRoom(url));
  }
  return workers === 1 ? null : shareConnections(workers, await readConnectionRoom(url));
}

/** Returns each pool's size, so that all pools together leave room on the server. */
export function shareConnections(workers: number, room: number): number {
  const each = Math.floor((room * CONNECTION_SHARE) / workers) - LOCK_CONNECTIONS;
  if (each >= MIN_POOL_SIZE) return Math.min(each, MAX_POOL_SIZE);
  const needed = Math.ceil((workers * (MIN_POOL_SIZE + LOCK_CONNECTIONS)) / CONNECTION_SHARE);
  throw new ConfigError([
    `OPENAISLE_WORKERS must be lower, or max_connections of PostgreSQL higher: these workers need ${needed} connections, and the server allows ${room}`,
  ]);
}

/** Opens the metrics port, if one is configured. */
export async function serveMetrics(
  { host, metricsPort }: Pick<MarketConfig, 'host' | 'metricsPort'>,
  make: () => { text(): Promise<MetricsText> },
  log: Log,
): Promise<{ close(): Promise<void> }> {
  if (metricsPort === 0) return { close: async () => {} };
  const metrics = make();
  const server = await startMetricsServer({
    host,
    port: metricsPort,
    path: '/metrics',
    read: () => metrics.text(),
    log,
  });
  log.info('metrics_listening', { host, port: server.port });
  return server;
}
