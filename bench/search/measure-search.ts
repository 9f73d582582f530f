import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectClient } from '../../src/platform/database/connection.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { startMarket } from '../catalog/start-market.ts';
import { pepperOf } from '../catalog/writers.ts';
import { machineFacts } from '../report.ts';
import type { Running } from '../run-bench.ts';
import { bm25Engine, type Engine, LONGEST_QUERY, marketEngine, postgresEngine } from './engines.ts';
import type { Options } from './options.ts';
import { type Corpus, readCorpus } from './read-corpus.ts';
import { type Need, readNeeds } from './read-needs.ts';
import { type Found, findPlaces, type NeedScores, scoreNeeds, scoreTitles, type TitleScores } from './scores.ts';
import { assignMerchants, type Listed, seedCorpus } from './seed-corpus.ts';
import { drawTitleQueries, SPELLINGS, type Spelling, type TitleQuery } from './title-queries.ts';

export interface SearchOutcome {
  machine: ReturnType<typeof machineFacts>;
  listings: number;
  merchants: number;
  /** Skills that could not be listed. */
  refused: Corpus['refused'];
  needs: number;
  /** Needs whose text was cut for the market, because it is longer than a query may be. */
  cut_needs: number;
  /** Ids of right items that the corpus does not have. */
  unknown_ids: readonly string[];
  titles: number;
  /** Seed of the drawn titles. */
  seed: number;
  engines: readonly EngineOutcome[];
}

export interface EngineOutcome {
  engine: string;
  needs: NeedScores;
  /** Null if no title was asked for. */
  titles: Record<Spelling, TitleScores> | null;
  /** Places for each query. Null without `--details`. */
  details: { needs: readonly Detail[]; titles: readonly (Detail & { spelling: Spelling })[] } | null;
}

interface Detail extends Found {
  q: string;
}

interface Questions {
  needs: readonly Need[];
  titles: readonly TitleQuery[];
  /** Ids of the listings with each title. */
  titleIds: ReadonlyMap<string, ReadonlySet<number>>;
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
const CATALOG_MB = 512;
const NOTHING: ReadonlySet<number> = new Set();

export async function measureSearch(options: Options, running: Running): Promise<SearchOutcome> {
  const { tell, signal } = running;
  const corpus = await readCorpus(options.corpus);
  const items = assignMerchants(corpus.items);
  const { needs, unknown } = await readNeeds(options.needs, items);
  const merchants = new Set(items.map(({ merchant }) => merchant)).size;
  tell(`${items.length} listings of ${merchants} merchants, ${corpus.refused.length} refused; ${needs.length} needs`);
  const titles = items.map(({ title }) => title);
  const drawn = drawTitleQueries(titles, { count: options.titles, seed: options.seed, limit: LONGEST_QUERY });
  if (options.titles > 0) tell(`${drawn.length} titles (seed ${options.seed})`);
  const questions = { needs, titles: drawn, titleIds: idsByTitle(items) };
  const engines: EngineOutcome[] = [];
  for (const engine of await startEngines(items, options, running)) {
    signal.throwIfAborted();
    engines.push(await measureEngine(engine, questions, options));
    tell(`${engine.name}: done`);
  }
  return {
    machine: machineFacts(),
    ...{ listings: items.length, merchants, refused: corpus.refused },
    needs: needs.length,
    cut_needs: needs.filter(({ q }) => q.length > LONGEST_QUERY).length,
    unknown_ids: unknown,
    ...{ titles: drawn.length, seed: options.seed, engines },
  };
}

function idsByTitle(items: readonly Listed[]): Map<string, Set<number>> {
  const ids = new Map<string, Set<number>>();
  for (const [index, { title }] of items.entries()) ids.set(title, (ids.get(title) ?? new Set()).add(index + 1));
  return ids;
}

async function startEngines(items: readonly Listed[], { seed }: Options, running: Running): Promise<Engine[]> {
  const { begun, signal, tell } = running;
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  tell('seeding');
  await seedCorpus(postgres.url, items);
  signal.throwIfAborted();
  tell('starting the market');
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepperOf(seed).toString('hex')}\n`, { mode: 0o600 });
  const market = await startMarket({
    ...{ databaseUrl: postgres.url, pepperFile, rpcUrl: null, workers: 1, catalogMemoryMb: CATALOG_MB },
    ...{ logFile: join(folder, 'market.log'), searchPath: '/api/shelves?q=skill', profileFolder: null, signal },
  });
  begun.defer(() => market.stop());
  const client = await connectClient({
    url: postgres.url,
    applicationName: 'openaisle-bench-search',
    statementTimeoutMs: 0,
  });
  begun.defer(() => client.end());
  return [marketEngine(market.url, begun), bm25Engine(items), await postgresEngine(client)];
}

async function measureEngine(engine: Engine, questions: Questions, options: Options): Promise<EngineOutcome> {
  const { needs, titles, titleIds } = questions;
  const needDetails: Detail[] = [];
  for (const { q, right, best } of needs) {
    needDetails.push({ q, ...findPlaces(await engine.search(q), right, best) });
  }
  const titleDetails: (Detail & { spelling: Spelling })[] = [];
  for (const { title, queries } of titles) {
    for (const spelling of SPELLINGS) {
      const q = queries[spelling];
      const found = findPlaces(await engine.search(q), titleIds.get(title) ?? NOTHING, NOTHING);
      titleDetails.push({ q, spelling, ...found });
    }
  }
  const scoresOf = (spelling: Spelling): TitleScores =>
    scoreTitles(titleDetails.filter((detail) => detail.spelling === spelling));
  return {
    engine: engine.name,
    needs: scoreNeeds(needDetails, needs.filter(({ best }) => best.size > 0).length),
    titles:
      titles.length === 0
        ? null
        : {
            exact: scoresOf('exact'),
            'letter missing': scoresOf('letter missing'),
            'letters swapped': scoresOf('letters swapped'),
          },
    details: options.details ? { needs: needDetails, titles: titleDetails } : null,
  };
}
