import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/platform/clock.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { startChild } from '../child.ts';
import { familyOf, memoryOf, pin } from '../process-facts.ts';
import { diceFor } from './dice.ts';
import type { LoadAnswer, LoadOrder } from './load-client.ts';
import { type Bench, measureKind, type Row } from './measure-kind.ts';
import { measureWorkers } from './measure-workers.ts';
import { measureWrites } from './measure-writes.ts';
import type { Options } from './options.ts';
import { pageKinds } from './page-kinds.ts';
import type { PageRequest } from './page-request.ts';
import { startQuietChain } from './quiet-chain.ts';
import { machineFacts, type Outcome, type Start } from './report.ts';
import { type Seeded, seedCatalog } from './seed.ts';
import { CLIENT_CORE, SERVER_CORE } from './settings.ts';
import type { SqlAnswer, SqlOrder } from './sql-client.ts';
import { makeSqlTables } from './sql-tables.ts';
import { type MarketServer, startMarket } from './start-market.ts';
import type { StaticAnswer, StaticOrder } from './static-server.ts';
import { measureWriteKinds } from './write-alone.ts';
import { createWriters, pepperOf } from './writers.ts';

export interface Surroundings {
  /** Collects every started process for cleanup. */
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

interface Stage extends Surroundings {
  options: Options;
  folder: string;
  databaseUrl: string;
  seeded: Seeded;
  /** True if server and client have a core each. */
  pinned: boolean;
  client: Bench['client'];
}

type Measured = Pick<Outcome, 'rows' | 'writes' | 'writeKinds' | 'workers'>;

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
/** Log lines expected because chain and facilitator are unreachable on purpose. */
const EXPECTED = /"(?:chain_unreadable_at_start|facilitator_unreachable_at_start|facilitator_unreadable)"/;
/** Requests of readers in measurements that are not about one kind of page. */
const MIXED = [
  'newest',
  'aisle',
  'tag',
  'aisle+tag',
  'rare word',
  'middling word',
  'common word',
  'two words, karma',
  'listing',
  'aisle, deep',
];
const OF_EACH = 40;

export async function measureCatalog(options: Options, around: Surroundings): Promise<Outcome> {
  const begin = performance.now();
  const stage = await prepare(options, around);
  const unsavedStart = options.restart ? await startUnsaved(stage) : null;
  const market = await launch(stage, 1);
  const savedStart = options.restart ? await startOf(stage, market, 'search_index_loaded') : null;
  if (stage.pinned && !(await pin(await market.family(), SERVER_CORE)))
    throw new Error('the market cannot be bound to a core');
  const measured = await measure(stage, market);
  const memory = await memoryOf(await market.family());
  return {
    listings: options.listings,
    seed: options.seed,
    machine: machineFacts(),
    pinned: stage.pinned,
    seconds_per_kind: options.seconds,
    load: { shelves_s: market.load.shelvesSeconds, text_s: market.load.textSeconds },
    unsaved_start: unsavedStart,
    saved_start: savedStart,
    rss_mb: memory?.rssMb ?? null,
    peak_rss_mb: memory?.peakMb ?? null,
    ...measured,
    complaints: await readComplaints(market.logFile),
    seconds: (performance.now() - begin) / 1_000,
  };
}

async function prepare(options: Options, around: Surroundings): Promise<Stage> {
  const { begun, signal, tell } = around;
  const folder = await openFolder(options, around);
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  signal.throwIfAborted();
  const seeded = await seedCatalog({ ...around, url: postgres.url, listings: options.listings, seed: options.seed });
  const client = startChild<LoadOrder, LoadAnswer>(new URL('./load-client.ts', import.meta.url), 'the client');
  begun.defer(() => client.stop());
  const together = cpus().length > CLIENT_CORE && options.workers === 1;
  const pinned = together && (await pin([client.pid], CLIENT_CORE));
  return { ...around, options, folder, databaseUrl: postgres.url, seeded, pinned, client };
}

async function openFolder({ dataDir, keep }: Options, { begun, tell }: Surroundings): Promise<string> {
  if (dataDir !== null) {
    await mkdir(dataDir, { recursive: true });
    return resolve(dataDir);
  }
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  if (keep) tell(`the folder of the database stays: ${folder}`);
  else begun.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Enough memory for the JSON of all listings, plus room for replacements. */
const MEMORY_MB_PER_LISTING = 0.00195;
const DEFAULT_MEMORY_MB = 2_048;

async function launch(stage: Stage, workers: number): Promise<MarketServer> {
  const { folder, databaseUrl, seeded, signal, begun, options, tell } = stage;
  tell(workers === 1 ? 'starting the market' : `starting the market with ${workers} processes`);
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepperOf(seeded.seed).toString('hex')}\n`, { mode: 0o600 });
  const market = await startMarket({
    databaseUrl,
    pepperFile,
    rpcUrl: options.writes === null ? null : await quietChain(stage),
    workers,
    catalogMemoryMb: Math.max(DEFAULT_MEMORY_MB, Math.ceil(options.listings * MEMORY_MB_PER_LISTING)),
    logFile: join(folder, `market-${process.pid}-${workers}.log`),
    searchPath: `/api/shelves?q=${seeded.vocabulary.words[20]}`,
    profileFolder: options.profile,
    signal,
  });
  begun.defer(() => market.stop());
  const { shelvesSeconds, textSeconds } = market.load;
  tell(`shelves after ${shelvesSeconds.toFixed(1)} s, words after ${textSeconds.toFixed(1)} s`);
  return market;
}

/** Starts a market without a saved text index, waits until it has saved one, and stops it. */
async function startUnsaved(stage: Stage): Promise<Start> {
  await rm(join(stage.folder, 'search'), { recursive: true, force: true });
  const market = await launch(stage, 1);
  const start = await startOf(stage, market, 'search_index_saved');
  await market.stop();
  await rm(market.logFile);
  return start;
}

const LOG_POLL_MS = 200;
const LOGGED_WITHIN_MS = 300_000;

/** Waits until a start is over, which is when all JSON is read and a line about the saved index is in the log. */
async function startOf({ signal, tell }: Stage, market: MarketServer, event: string): Promise<Start> {
  const begin = performance.now();
  for (let left = ['catalog_filled', event]; left.length > 0; ) {
    if (performance.now() - begin > LOGGED_WITHIN_MS)
      throw new Error(`the market's log has no line ${left.join(', ')}`);
    await systemClock.sleep(LOG_POLL_MS, signal);
    signal.throwIfAborted();
    const lines = await readFile(market.logFile, 'utf8');
    left = left.filter((one) => !lines.includes(`"event":"${one}"`));
  }
  const memory = await memoryOf(await market.family());
  tell(`memory ${memory?.rssMb.toFixed(0)} MB, at most ${memory?.peakMb.toFixed(0)} MB`);
  return {
    shelves_s: market.load.shelvesSeconds,
    text_s: market.load.textSeconds,
    rss_mb: memory?.rssMb ?? null,
    peak_rss_mb: memory?.peakMb ?? null,
  };
}

async function quietChain({ begun }: Stage): Promise<string> {
  const chain = await startQuietChain();
  begun.defer(() => chain.stop());
  return chain.url;
}

async function measure(stage: Stage, market: MarketServer): Promise<Measured> {
  const { options, client, seeded, databaseUrl, tell } = stage;
  const nothing: Measured = { rows: [], writes: null, writeKinds: [], workers: null };
  if (options.workers > 1) {
    const many = await launch(stage, options.workers);
    const requests = await mixedRequests(stage, market);
    return {
      ...nothing,
      workers: await measureWorkers({ client, one: market, many, requests, seconds: options.seconds }),
    };
  }
  if (options.writes !== null) {
    const writers = await createWriters(databaseUrl, seeded);
    if (options.only.length > 0) {
      const target = { url: market.url, pids: await market.family() };
      if (stage.pinned) await leaveCoreTo(target.pids);
      const order = { market: target, writesTo: market.url, rate: options.writes, seconds: options.seconds, tell };
      return { ...nothing, writeKinds: await measureWriteKinds(options.only, writers, order) };
    }
    const next = writers.mixed;
    const requests = await mixedRequests(stage, market);
    const target = { url: market.url, pids: await market.family() };
    const still = await startStatic(stage);
    const { url } = await still.ask({ marketUrl: market.url, requests });
    const fixed = { url, pids: [still.pid] };
    const writesTo = options.elsewhere ? (await launch(stage, 1)).url : market.url;
    if (stage.pinned && !options.elsewhere) await leaveCoreTo([...target.pids, still.pid]);
    const order = { client, market: target, fixed, writesTo, databaseUrl, seeded, requests, next, tell };
    const { writes: rate, reads, seconds } = options;
    return { ...nothing, writes: await measureWrites({ ...order, rate, reads, seconds }) };
  }
  return { ...nothing, rows: await measureKinds(stage, market) };
}

/** Pins our other processes, including the database, to the client's core. Otherwise they would move between the cores. */
async function leaveCoreTo(servers: readonly number[]): Promise<void> {
  const ours = await familyOf(process.pid);
  await pin(
    ours.filter((pid) => !servers.includes(pid)),
    CLIENT_CORE,
  );
}

async function startStatic({ begun, pinned }: Stage): Promise<Bench['fixed']> {
  const url = new URL('./static-server.ts', import.meta.url);
  const fixed = startChild<StaticOrder, StaticAnswer>(url, 'the static server');
  begun.defer(() => fixed.stop());
  if (pinned) await pin([fixed.pid], SERVER_CORE);
  return fixed;
}

async function measureKinds(stage: Stage, market: MarketServer): Promise<Row[]> {
  const { options, client, seeded, begun, signal, tell, databaseUrl } = stage;
  const fixed = await startStatic(stage);
  const bench: Bench = { market: { url: market.url, pids: await market.family() }, client, fixed, sql: null };
  if (options.sql) {
    tell('making tables and indexes for the same pages by SQL');
    await makeSqlTables(databaseUrl, signal);
    const sqlClient = startChild<SqlOrder, SqlAnswer>(new URL('./sql-client.ts', import.meta.url), 'the SQL client');
    begun.defer(() => sqlClient.stop());
    bench.sql = { client: sqlClient, url: databaseUrl };
  }
  const rows: Row[] = [];
  for (const [name, make] of chosenKinds(options, pageKinds(market.url, seeded, options.seconds * 2 + 5))) {
    signal.throwIfAborted();
    const kind = await make();
    if (kind.requests.length === 0) {
      tell(`${name}: there is no such page`);
      continue;
    }
    const row = await measureKind(bench, kind, options.seconds);
    rows.push(row);
    tell(
      `${name}: ${row.rps.toFixed(0)}/s against ${row.static_rps.toFixed(0)}/s static, ratio ${row.ratio.toFixed(2)}, p99 ${row.p99_ms.toFixed(1)} ms`,
    );
  }
  return rows;
}

function chosenKinds<Kind>({ only }: Options, kinds: Map<string, Kind>): [string, Kind][] {
  const unknown = only.filter((name) => !kinds.has(name));
  if (unknown.length > 0)
    throw new Error(`no such kind: ${unknown.join('; ')}. There are: ${[...kinds.keys()].join('; ')}`);
  return [...kinds].filter(([name]) => only.length === 0 || only.includes(name));
}

/** Makes the same number of requests of each mixed kind, in random order. */
async function mixedRequests({ seeded }: Stage, market: MarketServer): Promise<PageRequest[]> {
  const kinds = pageKinds(market.url, seeded, 0);
  const dice = diceFor(seeded.seed, 'mixed');
  const mixed: { request: PageRequest; place: number }[] = [];
  for (const name of MIXED) {
    const requests = (await kinds.get(name)?.())?.requests ?? [];
    for (let n = 0; n < OF_EACH && requests.length > 0; n += 1) {
      const request = requests[n % requests.length];
      if (request !== undefined) mixed.push({ request, place: dice.share() });
    }
  }
  return mixed.sort((a, b) => a.place - b.place).map(({ request }) => request);
}

/** Returns the lines of the market's log that are above `info` or malformed. */
async function readComplaints(logFile: string): Promise<string[]> {
  const lines = (await readFile(logFile, 'utf8')).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('{"level":"info"') && !EXPECTED.test(line));
}
