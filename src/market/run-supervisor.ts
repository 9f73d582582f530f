import { systemClock } from '../platform/clock.ts';
import { superviseWorkers } from '../platform/cluster.ts';
import type { Log } from '../platform/log.ts';
import { undoOnFailure } from '../platform/shutdown.ts';
import type { MarketConfig } from './context.ts';
import { createJoinedMetrics } from './metrics/join-metrics.ts';
import { serveMetrics } from './metrics/serve-metrics.ts';
import { prepareGround } from './prepare-ground.ts';
import type { MarketRun } from './run-market.ts';
import { sizePools } from './workers/share-connections.ts';
import type { WorkerTask } from './workers/worker-task.ts';

/** The first of several processes: it owns the database and the port, and serves nothing itself. */
export function runSupervisor({ config, log }: { config: MarketConfig; log: Log }): Promise<MarketRun> {
  return undoOnFailure(async (begun) => {
    const ground = await prepareGround(config, log);
    begun.defer(() => ground.stop());
    const task: WorkerTask = { databaseUrl: ground.url, poolSize: await sizePools(config, ground.url) };
    const workers = superviseWorkers({ count: config.workers, task, clock: systemClock, log });
    const metricsServer = await serveMetrics(config, () => createJoinedMetrics(workers), log);
    log.info('workers_starting', { count: config.workers });
    workers.start();
    return {
      databaseEnded: ground.ended,
      failed: workers.failed,
      stopServing: (options) => workers.stop(options),
      steps: [
        { name: 'metrics', close: metricsServer.close },
        { name: 'postgres', close: () => ground.stop() },
      ],
    };
  });
}
