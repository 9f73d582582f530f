import { AggregatorRegistry, Registry } from 'prom-client';
import { z } from 'zod';
import { systemClock } from '../platform/clock.ts';
import { joinSupervisor, type Supervision, superviseWorkers, type WorkerAssignment } from '../platform/cluster.ts';
import type { Log } from '../platform/log.ts';
import { deferSignals, handleShutdown, type Shutdown, undoOnFailure } from '../platform/shutdown.ts';
import type { MarketConfig } from './context.ts';
import { addProcess, createMetrics, type Metrics, type MetricsText } from './create-metrics.ts';
import { prepareDatabase } from './prepare-database.ts';
import { registerCounter, registerGauge, singleSample } from './register-metric.ts';
import {
  checkObjectStore,
  type MarketRun,
  type RunMarketOptions,
  serveMarket,
  serveMetrics,
  sizePools,
} from './start.ts';

/** Runs the first of several processes, which owns the database and the port, keeps the workers alive and serves only the metrics. */
export function runSupervisor({ config, log }: { config: MarketConfig; log: Log }): Promise<MarketRun> {
  return undoOnFailure(async (begun) => {
    await checkObjectStore(config, log);
    const prepared = await prepareDatabase(config, log);
    begun.defer(() => prepared.stop());
    const task: WorkerTask = { databaseUrl: prepared.url, poolSize: await sizePools(config, prepared.url) };
    const workers = superviseWorkers({ count: config.workers, task, clock: systemClock, log });
    const metricsServer = await serveMetrics(config, () => createJoinedMetrics(workers), log);
    log.info('workers_starting', { count: config.workers });
    workers.start();
    return {
      databaseEnded: prepared.ended,
      failed: workers.failed,
      stopServing: (options) => workers.stop(options),
      steps: [
        { name: 'metrics', close: metricsServer.close },
        { name: 'postgres', close: () => prepared.stop() },
      ],
    };
  });
}

/** Workers that do not answer within this time are left out of the metrics. */
const ANSWER_TIMEOUT_MS = 2_000;
/** Label of the supervisor's own metrics. */
const SUPERVISOR = '0';

/** Joins the metrics of all workers and the supervisor into one text. */
export function createJoinedMetrics(workers: Pick<Supervision, 'ask' | 'state'>): { text(): Promise<MetricsText> } {
  const own = new Registry();
  own.setDefaultLabels({ worker: SUPERVISOR });
  addProcess(own);
  registerGauge(own, {
    name: 'openaisle_workers_ready',
    help: 'Worker processes that are serving',
    read: () => singleSample(workers.state().ready),
  });
  registerCounter(own, {
    name: 'openaisle_worker_restarts_total',
    help: 'Worker processes that were replaced after a failure',
    read: () => singleSample(workers.state().restarts),
  });
  return {
    text: async () => {
      const answers = await workers.ask(ANSWER_TIMEOUT_MS);
      const all = [await own.getMetricsAsJSON(), ...answers.map(({ answer }) => answer as object[])];
      // Each line names its worker, so nothing is really summed. Without 'sum' the library would drop some metrics.
      const lines = all.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' })));
      const joined = AggregatorRegistry.aggregate(lines);
      return { type: joined.contentType, body: await joined.metrics() };
    },
  };
}

/** Serves in this process if a supervisor started it; otherwise returns null at once. */
export function runWorker(options: RunMarketOptions & { drainMs: number }): Promise<void> | null {
  let metrics: Metrics | null = null;
  let shutdown: Shutdown | null = null;
  const joining = joinSupervisor({
    onStop: () => {
      // The process does not serve yet, so there is nothing to drain or close.
      if (shutdown === null) process.exit(0);
      // Ctrl-C also reaches this process, perhaps later, and must not count as a second request to stop.
      deferSignals();
      shutdown.dispose();
      void shutdown.stop('supervisor').then((code) => process.exit(code));
    },
    onOrphaned: () => options.log.error('supervisor_gone', { pid: process.pid }),
    answer: async () => (await metrics?.values()) ?? [],
  });
  if (joining === null) return null;
  const signals = deferSignals();
  return joining.then(async (assignment) => {
    metrics = createMetrics({ worker: assignment.number.toString(), withProcess: options.config.metricsPort !== 0 });
    shutdown = await serveAssignment(assignment, metrics, options);
    const early = signals.release();
    if (early !== null) process.exit(await shutdown.stop(early));
    assignment.ready();
  });
}

async function serveAssignment(
  assignment: WorkerAssignment,
  metrics: Metrics,
  options: RunMarketOptions & { drainMs: number },
): Promise<Shutdown> {
  const { config, crashPoint, drainMs } = options;
  const log = options.log.with({ worker: assignment.number, pid: process.pid });
  const task = workerTask.parse(assignment.task);
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

/** Settings that a worker cannot read from the environment. */
const workerTask = z.object({ databaseUrl: z.string(), poolSize: z.number().int().positive().nullable() });
type WorkerTask = z.infer<typeof workerTask>;
