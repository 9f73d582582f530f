import { systemClock } from '../platform/clock.ts';
import { openDatabase } from '../platform/database/open-database.ts';
import type { Log } from '../platform/log.ts';
import { openLogCopyPlace } from '../platform/log-copy/place.ts';
import { loadOwnPepper } from '../platform/pepper.ts';
import { systemRandom } from '../platform/random.ts';
import { undoOnFailure } from '../platform/shutdown.ts';
import type { CrashPoint, MarketConfig } from './context.ts';
import { createMarket } from './create-market.ts';
import type { Metrics } from './metrics/create-metrics.ts';

export interface ServeMarketOptions {
  config: MarketConfig;
  log: Log;
  databaseUrl: string;
  /** Null: as large as it is by itself. */
  poolSize: number | null;
  metrics: Metrics;
  crashPoint?: (name: CrashPoint) => void;
}

export interface ServedMarket {
  url: string;
  port: number;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  closeDatabase(): Promise<void>;
}

/** One web process on a ground that is prepared. The port opens last, when everything behind it is ready. Leaves nothing behind when it fails. */
export function serveMarket(options: ServeMarketOptions): Promise<ServedMarket> {
  const { config, metrics, poolSize, crashPoint } = options;
  return undoOnFailure(async (begun) => {
    const database = await openDatabase({
      url: options.databaseUrl,
      applicationName: 'openaisle-market',
      ...(poolSize === null ? {} : { poolSize }),
    });
    begun.defer(() => database.close());
    const running = createMarket({
      config,
      database,
      clock: systemClock,
      random: systemRandom,
      log: countRequests(options.log, metrics.countRequest),
      pepper: await loadOwnPepper(config),
      logCopy: await openLogCopyPlace(config, {
        random: systemRandom,
        log: options.log,
        variable: 'OPENAISLE_LOG_COPY_DIR',
      }),
      metrics,
      ...(crashPoint === undefined ? {} : { crashPoint }),
    });
    // Also after a start that failed half-way: its passes would go on asking a database that is closed.
    begun.defer(() => running.stop({ drainMs: 0 }));
    const { url, port } = await running.start();
    return { url, port, stopServing: (how) => running.stop(how), closeDatabase: () => database.close() };
  });
}

/** Counts what the access log tells, line by line: so the two cannot differ. */
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
