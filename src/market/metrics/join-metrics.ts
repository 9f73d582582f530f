import { AggregatorRegistry, Counter, Registry } from 'prom-client';
import type { Supervision } from '../../platform/cluster.ts';
import { addProcess, type MetricsText, observeNumber } from './create-metrics.ts';

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
