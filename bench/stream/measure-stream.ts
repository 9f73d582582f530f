import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { type MarketServer, startMarket } from '../catalog/start-market.ts';
import { type Child, startChild } from '../child.ts';
import { load } from '../load.ts';
import { cpuMs, memoryOf } from '../process-facts.ts';
import type { Running } from '../run-bench.ts';
import { seed } from '../seed.ts';
import { requestBytes } from '../wire.ts';
import { collectGarbage } from './collect-garbage.ts';
import type { ListenAnswer, ListenOrder } from './listeners.ts';
import type { Options } from './options.ts';
import { type Times, timeRequests } from './time-requests.ts';
import { type WatchedWindow, watchWindow } from './watch-window.ts';
import { inventEvents, writeEvents } from './write-events.ts';

export interface StreamOutcome {
  clients: number;
  rate: number;
  seconds: number;
  events: number;
  /** Empty if every client received every event once and in order. */
  faults: string[];
  /** Growth of the process per client after garbage collection, with all clients connected and after the last event. */
  kbPerClient: { idle: number; after: number };
  rssMb: { before: number; idle: number; after: number };
  /** Share of one core used by the market while events came. */
  marketShare: number;
  /** Times of GET /api/shelves on another connection, without listeners and with all of them while events come. */
  others: { alone: Times; withListeners: Times };
  /** Null if no browser watched the page. */
  window: WatchedWindow | null;
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
const LISTINGS = 2_000;
const WARM_UP = { clients: 50, rate: 50, seconds: 3 };
/** Load at full speed before the measurement, so that a busy process's memory is not counted as the listeners'. */
const BUSY = { connections: 16, seconds: 4 };
const ALONE_SECONDS = 5;
const SETTLE_MS = 3_000;
const ARRIVE_WITHIN_MS = 10_000;

interface Stage {
  database: Database;
  market: MarketServer;
  listeners: Child<ListenOrder, ListenAnswer>;
}

/** Runs a real market in one process, all listeners in another, and measures in this one. */
export async function measureStream(options: Options, running: Running): Promise<StreamOutcome> {
  const { signal, tell } = running;
  const stage = await prepare(running);
  const { market, listeners } = stage;
  const port = Number(new URL(market.url).port);
  tell('warming up');
  await load(market.url, [requestBytes(market.url, { method: 'GET', path: '/api/shelves' })], BUSY);
  await listeners.ask({ act: 'open', port, count: WARM_UP.clients });
  await timeWhileWriting(stage, { ...WARM_UP, signal });
  await listeners.ask({ act: 'close' });
  const alone = await timeWhile(market.url, () => systemClock.sleep(ALONE_SECONDS * 1_000, signal));
  const before = await rssMb(market, signal);

  tell(`connecting ${options.clients} clients`);
  await listeners.ask({ act: 'open', port, count: options.clients });
  const idle = await rssMb(market, signal);
  const watch = options.window ? await watchWindow(market.url, running.begun) : null;
  tell(`${options.rate} events/s for ${options.seconds} s`);
  const cpu = (await cpuMs([market.pid])) ?? 0;
  const begin = performance.now();
  const { written, times } = await timeWhileWriting(stage, { ...options, signal });
  const marketShare = (((await cpuMs([market.pid])) ?? 0) - cpu) / (performance.now() - begin);
  const { faults, slowest, fastest, open } = await waitForEvents(stage, signal);
  if (open !== options.clients) faults.push(`${open} clients are left`);
  if (slowest !== fastest) faults.push(`the slowest client has ${slowest}, the fastest ${fastest}`);
  const window = (await watch?.end(fastest)) ?? null;
  faults.push(...(window?.faults ?? []));
  const after = await rssMb(market, signal);
  const perClient = (rss: number): number => ((rss - before) * 1_024) / options.clients;
  return {
    clients: options.clients,
    rate: options.rate,
    seconds: options.seconds,
    events: written,
    faults,
    kbPerClient: { idle: perClient(idle), after: perClient(after) },
    rssMb: { before, idle, after },
    marketShare,
    others: { alone: alone.times, withListeners: times },
    window,
  };
}

async function prepare({ begun, signal, tell }: Running): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting PostgreSQL and a market');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  await inventEvents(postgres.url);
  const database = await openDatabase({ url: postgres.url, poolSize: 2, applicationName: 'openaisle-bench' });
  begun.defer(() => database.close());
  const pepper = systemRandom.bytes(32);
  await seed(database, { listings: LISTINGS, buyers: 1, pepper });
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepper.toString('hex')}\n`, { mode: 0o600 });
  const market = await startMarket({
    databaseUrl: postgres.url,
    pepperFile,
    rpcUrl: null,
    workers: 1,
    catalogMemoryMb: 64,
    logFile: join(folder, 'market.log'),
    searchPath: '/api/shelves?q=the',
    profileFolder: process.env['OPENAISLE_BENCH_PROFILE'] ?? null,
    signal,
  });
  begun.defer(() => market.stop());
  const listeners = startChild<ListenOrder, ListenAnswer>(new URL('./listeners.ts', import.meta.url), 'the listeners');
  begun.defer(() => listeners.stop());
  return { database, market, listeners };
}

async function timeWhileWriting(
  { database, market }: Stage,
  given: { rate: number; seconds: number; signal: AbortSignal },
): Promise<{ written: number; times: Times }> {
  const { times, value } = await timeWhile(market.url, () => writeEvents(database, given));
  return { written: value, times };
}

async function timeWhile<T>(url: string, act: () => Promise<T>): Promise<{ times: Times; value: T }> {
  const done = new AbortController();
  const timing = timeRequests(url, done.signal);
  try {
    const value = await act();
    done.abort();
    return { times: await timing, value };
  } finally {
    done.abort();
  }
}

/** Returns the listeners' state when all have the last event, or after a timeout. */
async function waitForEvents({ listeners, market }: Stage, signal: AbortSignal): Promise<ListenAnswer> {
  const begin = performance.now();
  const faults: string[] = [];
  for (;;) {
    const answer = await listeners.ask({ act: 'look' });
    faults.push(...answer.faults);
    const newest = await newestEvent(market.url);
    if (answer.slowest === newest) return { ...answer, faults };
    if (performance.now() - begin > ARRIVE_WITHIN_MS) {
      return { ...answer, faults: [...faults, `the newest event is ${newest}, a client has ${answer.slowest}`] };
    }
    await systemClock.sleep(100, signal);
  }
}

async function newestEvent(url: string): Promise<number> {
  const { events } = (await (await fetch(`${url}/api/events?limit=1`)).json()) as { events: { id: number }[] };
  return events[0]?.id ?? 0;
}

/** Reads memory after it has settled. */
async function rssMb(market: MarketServer, signal: AbortSignal): Promise<number> {
  await systemClock.sleep(SETTLE_MS, signal);
  await collectGarbage(market);
  return (await memoryOf([market.pid]))?.rssMb ?? Number.NaN;
}
