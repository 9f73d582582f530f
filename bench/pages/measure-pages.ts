import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { createZipf, diceFor } from '../catalog/dice.ts';
import type { LoadAnswer, LoadOrder } from '../catalog/load-client.ts';
import type { PageRequest } from '../catalog/page-request.ts';
import { seedCatalog } from '../catalog/seed.ts';
import { CLIENT_CORE, CONNECTIONS, SERVER_CORE } from '../catalog/settings.ts';
import { type LoadClient, medianOf, runSlice, type Slice, type Target } from '../catalog/slice.ts';
import { startMarket } from '../catalog/start-market.ts';
import type { StaticAnswer, StaticOrder } from '../catalog/static-server.ts';
import { pepperOf } from '../catalog/writers.ts';
import { type Child, startChild } from '../child.ts';
import { pin } from '../process-facts.ts';
import type { Running } from '../run-bench.ts';
import type { Options } from './options.ts';

export interface PagesOutcome {
  listings: number;
  pinned: boolean;
  rows: PageRow[];
}

export interface PageRow {
  kind: string;
  perSecond: number;
  staticPerSecond: number;
  /** Median of the rounds' ratios of market to static server. */
  ratio: number;
  ratios: number[];
  cpuMicros: number | null;
  bytes: number;
  /** Shares of a core that the client used with the market, and with the static server. */
  clientShares: number[];
}

interface Stage {
  market: Target;
  client: LoadClient;
  fixed: Child<StaticOrder, StaticAnswer>;
  pinned: boolean;
}

interface Kind {
  name: string;
  headers: Readonly<Record<string, string>>;
  /** Listing numbers that are requested in turn. Each round continues where the last one of the market stopped. */
  ids: readonly number[];
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
/** Twice as many pages as the cache holds, so that a page is evicted before it is requested again. */
const LISTINGS = 20_000;
const KEPT = 300;
const READS = 60_000;
/** Coprime to the number of listings, so that each rank maps to a different one. */
const SPREAD = 7_919;
const ROUND_SECONDS = 1;
/** Factor for requests beyond the plan, because a round takes a little longer than planned. */
const SLACK = 1.1;
const WARM_UP_SECONDS = 1;
const SEED = 1;
const CATALOG_MB = 512;
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const GZIP = { ...BROWSER, 'accept-encoding': 'gzip, deflate, br' };

const KINDS: readonly Kind[] = [
  { name: 'as people read', headers: BROWSER, ids: asRead() },
  { name: 'as people read, gzip', headers: GZIP, ids: asRead() },
  { name: 'kept', headers: BROWSER, ids: first(KEPT) },
  { name: 'kept, gzip', headers: GZIP, ids: first(KEPT) },
  { name: 'rendered each time', headers: BROWSER, ids: first(LISTINGS) },
  { name: 'rendered each time, gzip', headers: GZIP, ids: first(LISTINGS) },
];

function first(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** Returns listing numbers as people read them. Popularity falls as 1, 1/2, 1/3 and so on, whatever the age. */
function asRead(): number[] {
  const draw = createZipf(LISTINGS, diceFor(SEED, 'readers'));
  return Array.from({ length: READS }, () => 1 + ((draw() * SPREAD) % LISTINGS));
}

export async function measurePages(options: Options, running: Running): Promise<PagesOutcome> {
  const stage = await prepare(options, running);
  const rows: PageRow[] = [];
  for (const kind of KINDS) {
    running.signal.throwIfAborted();
    const row = await measureKind(stage, kind, options.rounds);
    rows.push(row);
    running.tell(`${kind.name}: ${row.perSecond.toFixed(0)}/s against ${row.staticPerSecond.toFixed(0)}/s static`);
  }
  return { listings: LISTINGS, pinned: stage.pinned, rows };
}

async function prepare({ profile }: Options, { begun, signal, tell }: Running): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  const seeded = await seedCatalog({ url: postgres.url, listings: LISTINGS, seed: SEED, signal, tell });
  const client = startChild<LoadOrder, LoadAnswer>(new URL('../catalog/load-client.ts', import.meta.url), 'the client');
  begun.defer(() => client.stop());
  const fixed = startChild<StaticOrder, StaticAnswer>(
    new URL('../catalog/static-server.ts', import.meta.url),
    'the static server',
  );
  begun.defer(() => fixed.stop());
  tell('starting the market');
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepperOf(SEED).toString('hex')}\n`, { mode: 0o600 });
  const market = await startMarket({
    ...{ databaseUrl: postgres.url, pepperFile, rpcUrl: null, workers: 1, catalogMemoryMb: CATALOG_MB },
    logFile: join(folder, 'market.log'),
    searchPath: `/api/shelves?q=${seeded.vocabulary.words[20]}`,
    ...{ profileFolder: profile, signal },
  });
  begun.defer(() => market.stop());
  const pids = await market.family();
  const pinned =
    cpus().length > CLIENT_CORE &&
    (await pin([client.pid], CLIENT_CORE)) &&
    (await pin([...pids, fixed.pid], SERVER_CORE));
  return { market: { url: market.url, pids }, client, fixed, pinned };
}

/** Measures market and static server in turn, so that other work on the machine affects both. */
async function measureKind({ market, client, fixed }: Stage, kind: Kind, rounds: number): Promise<PageRow> {
  const all = kind.ids.map((id) => request(id, kind));
  const { url } = await fixed.ask({ marketUrl: market.url, requests: all });
  const targets = { market, fixed: { url, pids: [fixed.pid] } };
  let next = 0;
  const run = (side: keyof typeof targets, seconds: number): Promise<Slice> =>
    runSlice(client, targets[side], {
      requests: [...all.slice(next), ...all.slice(0, next)],
      ...{ status: 200, connections: CONNECTIONS, seconds },
    });
  const goOn = ({ perSecond }: Slice, seconds: number): void => {
    next = (next + Math.ceil(perSecond * seconds * SLACK)) % all.length;
  };
  await run('fixed', WARM_UP_SECONDS);
  goOn(await run('market', WARM_UP_SECONDS), WARM_UP_SECONDS);
  const slices: { market: Slice[]; fixed: Slice[] } = { market: [], fixed: [] };
  for (let round = 1; round <= rounds; round += 1) {
    const order = round % 2 === 0 ? (['market', 'fixed'] as const) : (['fixed', 'market'] as const);
    let made: Slice | undefined;
    for (const side of order) {
      const slice = await run(side, ROUND_SECONDS);
      slices[side].push(slice);
      if (side === 'market') made = slice;
    }
    if (made !== undefined) goOn(made, ROUND_SECONDS);
  }
  return rowOf(kind.name, slices);
}

const request = (id: number, { headers }: Kind): PageRequest => ({ path: `/listing/${id}`, headers });

function rowOf(kind: string, { market, fixed }: { market: readonly Slice[]; fixed: readonly Slice[] }): PageRow {
  const ratios = market.map(({ perSecond }, at) => perSecond / (fixed[at]?.perSecond ?? Number.NaN));
  const cpu = medianOf(market.map(({ cpuMicros }) => cpuMicros));
  return {
    kind,
    perSecond: medianOf(market.map(({ perSecond }) => perSecond)),
    staticPerSecond: medianOf(fixed.map(({ perSecond }) => perSecond)),
    ratio: medianOf(ratios),
    ratios,
    cpuMicros: Number.isFinite(cpu) ? cpu : null,
    bytes: medianOf(market.map(({ bytesPerAnswer }) => bytesPerAnswer)),
    clientShares: [market, fixed].map((slices) => medianOf(slices.map(({ clientShare }) => clientShare))),
  };
}
