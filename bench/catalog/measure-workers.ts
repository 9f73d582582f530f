import { memoryOf } from '../process-facts.ts';
import type { PageRequest } from './page-request.ts';
import { CONNECTIONS, SLICE_SECONDS, WARM_UP_SECONDS } from './settings.ts';
import { type LoadClient, medianOf, runSlice, type Slice, type Target } from './slice.ts';
import type { MarketServer } from './start-market.ts';

export interface WorkersOutcome {
  workers: number;
  one_rps: number;
  many_rps: number;
  /** Median of the ratios of adjacent slices. */
  ratio: number;
  ratios: readonly number[];
  load: { shelves_s: number; text_s: number };
  rss_mb: number | null;
}

export interface WorkersOrder {
  client: LoadClient;
  one: MarketServer;
  many: MarketServer;
  requests: readonly PageRequest[];
  seconds: number;
}

/** Compares two markets that run on one database at the same time. The idle one only follows its feed. */
export async function measureWorkers({ client, one, many, requests, seconds }: WorkersOrder): Promise<WorkersOutcome> {
  const target = async (server: MarketServer): Promise<Target> => ({ url: server.url, pids: await server.family() });
  const targets = { one: await target(one), many: await target(many) };
  const run = (side: keyof typeof targets, duration: number): Promise<Slice> =>
    runSlice(client, targets[side], { requests, status: 200, connections: CONNECTIONS, seconds: duration });
  for (let warm = 0; warm < 2; warm += 1) for (const side of ['one', 'many'] as const) await run(side, WARM_UP_SECONDS);
  const slices: { one: number[]; many: number[] } = { one: [], many: [] };
  for (let left = Math.max(2, Math.round(seconds / SLICE_SECONDS)); left > 0; left -= 1) {
    const order = left % 2 === 0 ? (['one', 'many'] as const) : (['many', 'one'] as const);
    for (const side of order) slices[side].push((await run(side, SLICE_SECONDS)).perSecond);
  }
  const ratios = slices.many.map((speed, index) => speed / (slices.one[index] ?? Number.NaN));
  return {
    workers: many.workers,
    one_rps: medianOf(slices.one),
    many_rps: medianOf(slices.many),
    ratio: medianOf(ratios),
    ratios,
    load: { shelves_s: many.load.shelvesSeconds, text_s: many.load.textSeconds },
    rss_mb: (await memoryOf(targets.many.pids))?.rssMb ?? null,
  };
}
