import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { machineFacts } from '../catalog/report.ts';
import { measureChecks } from './measure-checks.ts';
import { measureLikeness } from './measure-likeness.ts';
import type { Options } from './options.ts';
import { loadNow, type Outcome } from './report.ts';
import { seedShapes } from './seed-shapes.ts';
import { createTexts, type Texts } from './texts.ts';

export interface Surroundings {
  /** Collects every started process for cleanup. */
  begun: AsyncDisposableStack;
  signal: AbortSignal;
  tell(line: string): void;
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/market', import.meta.url));
const BYTES_PER_MB = 1_048_576;

export async function measureGuard(options: Options, around: Surroundings): Promise<Outcome> {
  const begin = performance.now();
  const texts = createTexts(options.seed, Math.max(options.listings, 1));
  const timed = options.listings === 0 ? null : await timeChecks(options, texts, around);
  const kinds = measureLikeness(texts, around.tell);
  return {
    listings: options.listings,
    seed: options.seed,
    machine: machineFacts(),
    load: timed?.load ?? loadNow(),
    size_mb: timed?.size_mb ?? null,
    checks: timed?.checks ?? [],
    kinds,
    seconds: (performance.now() - begin) / 1_000,
  };
}

async function timeChecks(
  { listings, probes, seed, dataDir }: Options,
  texts: Texts,
  { begun, signal, tell }: Surroundings,
): Promise<Pick<Outcome, 'load' | 'size_mb' | 'checks'>> {
  const folder = await openFolder(dataDir, begun);
  tell('starting PostgreSQL');
  const postgres = await startEmbeddedPostgres({ dataDir: folder });
  begun.defer(() => postgres.stop());
  await migrate(postgres.url, MIGRATIONS);
  await seedShapes({ url: postgres.url, listings, seed, texts, signal, tell });
  const order = { url: postgres.url, listings, seed, texts, nowMs: systemClock.now(), signal };
  tell('warming up');
  await measureChecks({ ...order, probes: Math.ceil(probes / 4), seed: seed + 1 });
  tell(`timing ${probes} looks`);
  const checks = await measureChecks({ ...order, probes });
  return { load: loadNow(), size_mb: await readSizes(postgres.url), checks };
}

async function openFolder(dataDir: string | null, begun: AsyncDisposableStack): Promise<string> {
  if (dataDir !== null) {
    await mkdir(dataDir, { recursive: true });
    return resolve(dataDir);
  }
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-bench-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function readSizes(url: string): Promise<{ table: number; index: number }> {
  const client = await connectClient({ url, applicationName: 'openaisle-bench-guard', statementTimeoutMs: 0 });
  try {
    const { rows } = await client.query<{ whole: bigint; index: bigint }>(`
      select pg_table_size('artifact_shapes') as whole, pg_relation_size('artifact_shapes_by_band') as index`);
    const [found] = rows;
    return { table: Number(found?.whole ?? 0) / BYTES_PER_MB, index: Number(found?.index ?? 0) / BYTES_PER_MB };
  } finally {
    await client.end();
  }
}
