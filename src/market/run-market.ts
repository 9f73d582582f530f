import type { Log } from '../platform/log.ts';
import { undoOnFailure } from '../platform/shutdown.ts';
import type { CrashPoint, MarketConfig } from './context.ts';
import { createMetrics } from './metrics/create-metrics.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { prepareGround } from './prepare-ground.ts';
import { serveMarket } from './serve-market.ts';
import { sizePools } from './workers/share-connections.ts';

export interface RunMarketOptions {
  config: MarketConfig;
  log: Log;
  crashPoint?: (name: CrashPoint) => void;
}

/** A market that runs, in this process or in several under it. */
export interface MarketRun {
  /** Resolves when the embedded database has ended, by `steps` or by itself. */
  databaseEnded: Promise<void>;
  /** Resolves when the processes under this one cannot live. */
  failed: Promise<void>;
  /** Stops accepting, answers what is in flight for that long, then ends the background work. */
  stopServing(options: { drainMs: number }): Promise<void>;
  /** What is left to close afterwards, in this order. */
  steps: readonly { name: string; close(): Promise<void> }[];
}

/** All of the market in this one process. Leaves nothing behind when it fails. */
export function runMarket({ config, log, crashPoint }: RunMarketOptions): Promise<MarketRun> {
  return undoOnFailure(async (begun) => {
    const ground = await prepareGround(config, log);
    begun.defer(() => ground.stop());
    const metrics = createMetrics({ worker: '1', withProcess: config.metricsPort !== 0 });
    const metricsServer = await serveMetrics(config, () => metrics, log);
    begun.defer(() => metricsServer.close());
    const market = await serveMarket({
      config,
      log,
      databaseUrl: ground.url,
      poolSize: await sizePools(config, ground.url),
      metrics,
      ...(crashPoint === undefined ? {} : { crashPoint }),
    });
    log.info('market_listening', { url: market.url, port: market.port, network: config.network.name });
    return {
      databaseEnded: ground.ended,
      failed: new Promise(() => {}),
      stopServing: market.stopServing,
      steps: [
        { name: 'metrics', close: metricsServer.close },
        { name: 'database', close: market.closeDatabase },
        { name: 'postgres', close: () => ground.stop() },
      ],
    };
  });
}
