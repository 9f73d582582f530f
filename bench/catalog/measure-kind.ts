import type { Child } from '../child.ts';
import { mergeHistograms, quantileMs } from './histogram.ts';
import type { PageKind } from './page-request.ts';
import { BUSY_SHARE, CONNECTIONS, SLICE_SECONDS, SQL_SECONDS, WARM_UP_SECONDS } from './settings.ts';
import { type LoadClient, medianOf, runSlice, type Slice, type Target } from './slice.ts';
import type { SqlAnswer, SqlOrder } from './sql-client.ts';
import type { StaticAnswer, StaticOrder } from './static-server.ts';

export interface Row {
  page: string;
  rps: number;
  static_rps: number;
  /** Median of the ratios of adjacent slices. */
  ratio: number;
  p50_ms: number;
  p99_ms: number;
  sql_rps: number | null;
  static_p50_ms: number;
  static_p99_ms: number;
  /** CPU time per answer, and the factor by which the static server needs less. */
  cpu_us: number | null;
  static_cpu_us: number | null;
  cpu_ratio: number | null;
  bytes: number;
  requests: number;
  client_share: number;
  static_client_share: number;
  /** Share of one core used by everything except server and client while the market was measured. */
  other_share: number | null;
  /** Sides whose figure was limited by the client, not by the server. */
  client_limited: readonly ('market' | 'static')[];
}

export interface Bench {
  market: Target;
  client: LoadClient;
  fixed: Child<StaticOrder, StaticAnswer>;
  sql: { client: Child<SqlOrder, SqlAnswer>; url: string } | null;
}

/** Measures market and static server in turn, so that other work on the machine affects both. */
export async function measureKind(bench: Bench, kind: PageKind, seconds: number): Promise<Row> {
  const { market, client, fixed } = bench;
  const { url } = await fixed.ask({ marketUrl: market.url, requests: kind.requests });
  const targets = { market, fixed: { url, pids: [fixed.pid] } };
  const run = (side: keyof typeof targets, duration: number): Promise<Slice> =>
    runSlice(client, targets[side], {
      requests: kind.requests,
      status: kind.status,
      connections: CONNECTIONS,
      seconds: duration,
    });
  await run('market', WARM_UP_SECONDS);
  await run('fixed', WARM_UP_SECONDS);
  const slices: { market: Slice[]; fixed: Slice[] } = { market: [], fixed: [] };
  for (let left = Math.max(1, Math.round(seconds / SLICE_SECONDS)); left > 0; left -= 1) {
    const order = left % 2 === 0 ? (['market', 'fixed'] as const) : (['fixed', 'market'] as const);
    for (const side of order) slices[side].push(await run(side, SLICE_SECONDS));
  }
  return { ...rowOf(kind, slices.market, slices.fixed), sql_rps: await measureSql(bench, kind) };
}

async function measureSql({ sql }: Bench, { sql: pages }: PageKind): Promise<number | null> {
  if (sql === null || pages.length === 0) return null;
  const order = { url: sql.url, pages };
  await sql.client.ask({ ...order, seconds: WARM_UP_SECONDS });
  const { made, seconds } = await sql.client.ask({ ...order, seconds: SQL_SECONDS });
  return made / seconds;
}

function rowOf(kind: PageKind, market: readonly Slice[], fixed: readonly Slice[]): Omit<Row, 'sql_rps'> {
  const of = (slices: readonly Slice[], value: (slice: Slice) => number | null): number => medianOf(slices.map(value));
  const cpu = of(market, ({ cpuMicros }) => cpuMicros);
  const fixedCpu = of(fixed, ({ cpuMicros }) => cpuMicros);
  const [latencies, fixedLatencies] = [market, fixed].map((slices) =>
    mergeHistograms(slices.map((one) => one.latencies)),
  );
  if (latencies === undefined || fixedLatencies === undefined) throw new Error('one side was not measured');
  const shares = { market: of(market, (one) => one.clientShare), static: of(fixed, (one) => one.clientShare) };
  return {
    page: kind.name,
    rps: of(market, ({ perSecond }) => perSecond),
    static_rps: of(fixed, ({ perSecond }) => perSecond),
    ratio: medianOf(market.map(({ perSecond }, index) => perSecond / (fixed[index]?.perSecond ?? Number.NaN))),
    p50_ms: quantileMs(latencies, 0.5),
    p99_ms: quantileMs(latencies, 0.99),
    static_p50_ms: quantileMs(fixedLatencies, 0.5),
    static_p99_ms: quantileMs(fixedLatencies, 0.99),
    cpu_us: numberOrNull(cpu),
    static_cpu_us: numberOrNull(fixedCpu),
    cpu_ratio: numberOrNull(fixedCpu / cpu),
    bytes: of(market, ({ bytesPerAnswer }) => bytesPerAnswer),
    requests: kind.requests.length,
    client_share: shares.market,
    static_client_share: shares.static,
    other_share: numberOrNull(of(market, ({ otherShare }) => otherShare)),
    client_limited: (['market', 'static'] as const).filter((side) => shares[side] >= BUSY_SHARE),
  };
}

function numberOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
