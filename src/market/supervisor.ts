import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import { systemClock } from '../platform/clock.ts';
import { type Supervision, superviseWorkers } from '../platform/cluster.ts';
import type { Log } from '../platform/log.ts';
import { undoOnFailure } from '../platform/shutdown.ts';
import type { MarketConfig } from './context.ts';
import { addProcess, type MetricsText, observeNumber } from './create-metrics.ts';
import { prepareDatabase } from './prepare-database.ts';
import { type MarketRun, serveMetrics, sizePools } from './start.ts';
import type { WorkerTask } from './worker.ts';

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
