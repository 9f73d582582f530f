import { randomFillSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { startQuietChain } from '../catalog/quiet-chain.ts';
import { seedCatalog } from '../catalog/seed.ts';
import { medianOf } from '../catalog/slice.ts';
import { startMarket } from '../catalog/start-market.ts';
import { createWriters, pepperOf } from '../catalog/writers.ts';
import { startChild } from '../child.ts';
import type { Running } from '../run-bench.ts';
import type { Options } from './options.ts';
import type { PlainAnswer, PlainOrder } from './plain-server.ts';
import { type FileServer, type MarketFiles, marketServer, plainServer } from './servers.ts';
import { closeConnections } from './transfer.ts';

export interface GoodsOutcome {
  megabytes: number;
  rows: GoodsRow[];
}

export interface GoodsRow {
  /** Kind of transfer and number of transfers at once. */
  kind: string;
  /** Medians of megabytes a second by server. */
  speeds: Record<string, number>;
  /** Median of the rounds' ratios of the market to the plain server with PostgreSQL. */
  ratio: number;
  ratios: number[];
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
const MEGABYTE = 1_048_576;
const LISTINGS = 100;
const SEED = 1;
const CATALOG_MB = 64;
/** A merchant's room for uploads that are not listed yet is twice the largest goods, so no more can wait at once. */
const AT_ONCE = [1, 2];
const SELLER = '0x00000000000000000000000000000000000b3c1e';

interface Stage {
  market: MarketFiles;
  plain: FileServer;
  files: FileServer;
}

export async function measureGoods(options: Options, running: Running): Promise<GoodsOutcome> {
  const { market, plain, files } = await prepare(options, running);
  const size = options.megabytes * MEGABYTE;
  const samples = new Map<string, Record<string, number[]>>();
  let next = 0;
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const atOnce of AT_ONCE) {
      running.signal.throwIfAborted();
      const names = Array.from({ length: atOnce }, (_, at) => next + at);
      next += atOnce;
      const contents = names.map(() => randomFillSync(Buffer.alloc(size)));
      const order = round % 2 === 0 ? [market, plain, files] : [files, plain, market];
      const uploads = await inTurn(order, (server) =>
        speedOf(names, size, (name, at) => server.upload(name, contents[at] as Buffer)),
      );
      for (const name of names) await market.list(name);
      const downloads = await inTurn(order, (server) =>
        speedOf(names, size, async (name) => {
          const bytes = await server.download(name);
          if (bytes !== size) throw new Error(`${server.name} sent ${bytes} of ${size} bytes`);
        }),
      );
      // The first round warms up.
      if (round === 0) continue;
      note(samples, `upload, ${atOnce} at once`, uploads);
      note(samples, `download, ${atOnce} at once`, downloads);
      running.tell(`round ${round}: ${JSON.stringify({ atOnce, uploads, downloads })}`);
    }
  }
  closeConnections();
  return { megabytes: options.megabytes, rows: [...samples].map(([kind, speeds]) => rowOf(kind, speeds, plain.name)) };
}

async function prepare({ profile, megabytes }: Options, { begun, signal, tell }: Running): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  const seeded = await seedCatalog({ url: postgres.url, listings: LISTINGS, seed: SEED, signal, tell });
  const { of: writes } = await createWriters(postgres.url, seeded);
  tell('starting the market and the plain server');
  const pepperFile = join(folder, 'pepper-of-bench');
  await writeFile(pepperFile, `1:${pepperOf(SEED).toString('hex')}\n`, { mode: 0o600 });
  const chain = await startQuietChain();
  begun.defer(() => chain.stop());
  const market = await startMarket({
    ...{ databaseUrl: postgres.url, pepperFile, rpcUrl: chain.url, workers: 1, catalogMemoryMb: CATALOG_MB },
    ...{ logFile: join(folder, 'market.log'), searchPath: '/api/shelves', profileFolder: profile, signal },
    settings: storeSettings(),
    limits: { artifact_bytes: megabytes * MEGABYTE, goods_megabytes_total: 1_000_000, storage_reserve_megabytes: 0 },
  });
  begun.defer(() => market.stop());
  const program = new URL('./plain-server.ts', import.meta.url);
  const child = startChild<PlainOrder, PlainAnswer>(program, 'the plain server');
  begun.defer(() => child.stop());
  const { url } = await child.ask({ databaseUrl: postgres.url, folder: join(folder, 'files') });
  return {
    // Merchant 1 is the maintainer, whose listings are free of charge.
    market: marketServer(market.url, writes.listing().key, SELLER),
    plain: plainServer(url, 'chunks'),
    files: plainServer(url, 'files'),
  };
}

/** Returns the settings of an S3 store from this process's environment. Without them the market keeps the bytes in PostgreSQL. */
function storeSettings(): Record<string, string> {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('OPENAISLE_S3_'));
  return Object.fromEntries(settings.map(([name, value]) => [name, value ?? '']));
}

async function inTurn(
  servers: readonly FileServer[],
  measure: (server: FileServer) => Promise<number>,
): Promise<Record<string, number>> {
  const speeds: Record<string, number> = {};
  for (const server of servers) speeds[server.name] = await measure(server);
  return speeds;
}

/** Returns megabytes a second of all transfers together. */
async function speedOf(
  names: readonly number[],
  size: number,
  transfer: (name: number, at: number) => Promise<void>,
): Promise<number> {
  const begin = performance.now();
  await Promise.all(names.map(transfer));
  const seconds = (performance.now() - begin) / 1_000;
  return Math.round(((names.length * size) / MEGABYTE / seconds) * 10) / 10;
}

function note(samples: Map<string, Record<string, number[]>>, kind: string, speeds: Record<string, number>): void {
  const row = samples.get(kind) ?? {};
  for (const [server, speed] of Object.entries(speeds)) row[server] = [...(row[server] ?? []), speed];
  samples.set(kind, row);
}

function rowOf(kind: string, speeds: Record<string, number[]>, plain: string): GoodsRow {
  const ratios = (speeds['market'] ?? []).map((speed, at) => speed / (speeds[plain]?.[at] ?? Number.NaN));
  const medians = Object.entries(speeds).map(([server, all]) => [server, medianOf(all)] as const);
  return { kind, speeds: Object.fromEntries(medians), ratio: medianOf(ratios), ratios };
}
