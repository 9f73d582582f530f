import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { z } from 'zod';
import { systemClock } from '../platform/clock.ts';
import { joinSupervisor, type Supervision, superviseWorkers, type WorkerAssignment } from '../platform/cluster.ts';
import type { Log } from '../platform/log.ts';
import { deferSignals, handleShutdown, type Shutdown, undoOnFailure } from '../platform/shutdown.ts';
import type { MarketConfig } from './context.ts';
import { addProcess, createMetrics, type Metrics, type MetricsText, observeNumber } from './create-metrics.ts';
import { prepareDatabase } from './prepare-database.ts';
import { type MarketRun, type RunMarketOptions, serveMarket, serveMetrics, sizePools } from './start.ts';

/** The first of several processes: it owns the database and the port, and serves nothing itself. */
export function runSupervisor({ config, log }: { config: MarketConfig; log: Log }): Promise<MarketRun> {
  return undoOnFailure(async (begun) => {
    const ground = await prepareDatabase(config, log);
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

/** A worker that is busy for longer is left out of this answer. */
const PATIENCE_MS = 2_000;
/** The worker's label on what the supervisor says of itself. */
const SUPERVISOR = '0';

/** The measurements of all workers as one text, and those of the supervisor. */
export function createJoinedMetrics(workers: Pick<Supervision, 'ask' | 'state'>): { text(): Promise<MetricsText> } {
  const own = new Registry();
  own.setDefaultLabels({ worker: SUPERVISOR });
  addProcess(own);
  observeNumber(own, 'openaisle_workers_ready', 'Web processes that serve', () => workers.state().ready);
  new Counter({
    name: 'openaisle_worker_restarts_total',
    help: 'Web processes that had to be replaced',
    registers: [own],
    collect() {
      this.reset();
      this.inc(workers.state().restarts);
    },
  });
  return {
    text: async () => {
      const answers = await workers.ask(PATIENCE_MS);
      const all = [await own.getMetricsAsJSON(), ...answers.map(({ answer }) => answer as object[])];
      // Each line names its worker, so there is nothing to add up. Some of the library's would be left out as not summable.
      const lines = all.map((metrics) => metrics.map((metric) => ({ ...metric, aggregator: 'sum' })));
      const joined = AggregatorRegistry.aggregate(lines);
      return { type: joined.contentType, body: await joined.metrics() };
    },
  };
}

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
type WorkerTask = z.infer<typeof workerTask>;

function readWorkerTask(task: unknown): WorkerTask {
  return workerTask.parse(task);
}
