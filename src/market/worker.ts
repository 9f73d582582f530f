import { z } from 'zod';
import { systemClock } from '../platform/clock.ts';
import { joinSupervisor, type WorkerAssignment } from '../platform/cluster.ts';
import { deferSignals, handleShutdown, type Shutdown } from '../platform/shutdown.ts';
import { createMetrics, type Metrics } from './create-metrics.ts';
import { type RunMarketOptions, serveMarket } from './start.ts';

/** Serves in this process what a supervisor has prepared; null at once when this process has none. */
export function runWorker(options: RunMarketOptions & { drainMs: number }): Promise<void> | null {
  let metrics: Metrics | null = null;
  let shutdown: Shutdown | null = null;
  const joining = joinSupervisor({
    onStop: () => {
      // Before it serves it has nothing to answer and nothing to put in order.
      if (shutdown === null) process.exit(0);
      // Its own signal, where a terminal sends one to all processes at once, may come later; that is no second wish to stop.
      deferSignals();
      shutdown.dispose();
      void shutdown.stop('supervisor').then((code) => process.exit(code));
    },
    onOrphaned: () => options.log.error('supervisor_gone', { pid: process.pid }),
    answer: async () => (await metrics?.values()) ?? [],
  });
  if (joining === null) return null;
  const signals = deferSignals();
  return joining.then(async (seat) => {
    metrics = createMetrics({ worker: seat.number.toString(), withProcess: options.config.metricsPort !== 0 });
    shutdown = await serveSeat(seat, metrics, options);
    const early = signals.release();
    if (early !== null) process.exit(await shutdown.stop(early));
    seat.ready();
  });
}

async function serveSeat(
  seat: WorkerAssignment,
  metrics: Metrics,
  options: RunMarketOptions & { drainMs: number },
): Promise<Shutdown> {
  const { config, crashPoint, drainMs } = options;
  const log = options.log.with({ worker: seat.number, pid: process.pid });
  const task = readWorkerTask(seat.task);
  const market = await serveMarket({
    config,
    log,
    ...task,
    metrics,
    ...(crashPoint === undefined ? {} : { crashPoint }),
  }).catch((error: unknown) => {
    log.error('market_not_started', { error });
    process.exit(1);
  });
  log.info('market_listening', { url: market.url, port: market.port, network: config.network.name });
  return handleShutdown({
    process,
    clock: systemClock,
    log,
    drainMs,
    closeServer: (how) => market.stopServing(how),
    steps: [{ name: 'database', close: () => market.closeDatabase() }],
  });
}

/** What a worker cannot read from the environment. */
const workerTask = z.object({ databaseUrl: z.string(), poolSize: z.number().int().positive().nullable() });
export type WorkerTask = z.infer<typeof workerTask>;

function readWorkerTask(task: unknown): WorkerTask {
  return workerTask.parse(task);
}
