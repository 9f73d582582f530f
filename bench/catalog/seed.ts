import type { ClientBase } from 'pg';
import { systemClock } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { copyFile, withCopyFolder, writeRows } from './copy-rows.ts';
import { countRows } from './count-rows.ts';
import { createGoods } from './goods.ts';
import { COUNT_COLUMNS, countLine, LISTING_COLUMNS, listingLine } from './listing-line.ts';
import { seedAround } from './seed-around.ts';
import { makeVocabulary, type Vocabulary } from './vocabulary.ts';

export interface Seeded {
  listings: number;
  seed: number;
  sellers: number;
  vocabulary: Vocabulary;
}

export interface SeedOrder {
  url: string;
  listings: number;
  seed: number;
  signal: AbortSignal;
  tell(line: string): void;
}

/** Raise this when the same seed gives other rows, so that a folder with the old rows is refused. */
const SHAPE = 3;
const CHUNK = 10_000;

/** Fills an empty market, or reuses one filled before with the same seed. */
export async function seedCatalog(order: SeedOrder): Promise<Seeded> {
  const { url, listings, seed, tell } = order;
  const sellers = Math.max(20, Math.round(listings / 20));
  const seeded = { listings, seed, sellers, vocabulary: makeVocabulary(seed) };
  const client = await connectClient({ url, applicationName: 'openaisle-bench-seed', statementTimeoutMs: 0 });
  try {
    if (await isSeeded(client, seeded)) tell(`the folder holds these ${listings} listings already (seed ${seed})`);
    else await fill(client, seeded, order);
  } finally {
    await client.end();
  }
  return seeded;
}

async function isSeeded(client: ClientBase, { listings, seed }: Seeded): Promise<boolean> {
  await client.query('create schema if not exists bench');
  await client.query('create table if not exists bench.seeded (listings int, seed int, shape int)');
  const { rows } = await client.query<{ listings: number; seed: number; shape: number }>('select * from bench.seeded');
  const [found] = rows;
  if (found === undefined) {
    const { rowCount } = await client.query('select from merchants limit 1');
    if (rowCount !== 0) throw new Error('the data folder holds a market, and none that this benchmark has filled');
    return false;
  }
  if (found.listings === listings && found.seed === seed && found.shape === SHAPE) return true;
  throw new Error(`the data folder holds ${found.listings} listings of seed ${found.seed}: name another folder`);
}

async function fill(client: ClientBase, seeded: Seeded, { signal, tell }: SeedOrder): Promise<void> {
  const { listings, seed } = seeded;
  const begin = performance.now();
  tell(`seeding ${listings} listings of ${seeded.sellers} merchants (seed ${seed})`);
  // Disable triggers and foreign keys for this session, because the rows are correct by construction.
  await client.query('set session_replication_role = replica');
  await client.query('set synchronous_commit = off');
  await client.query("set maintenance_work_mem = '256MB'");
  await client.query('begin');
  await client.query('drop table if exists bench.counts');
  await client.query('create unlogged table bench.counts (id bigint, votes int, sales int)');
  await copyListings(client, seeded, { signal, tell });
  await seedAround(client, seeded, (what) => {
    signal.throwIfAborted();
    tell(`seeding: ${what}`);
  });
  await client.query('drop table bench.counts');
  await countRows(client);
  await client.query(`insert into bench.seeded values (${listings}, ${seed}, ${SHAPE})`);
  await client.query('commit');
  await client.query('set session_replication_role = origin');
  // Triggers are on here, because one of them records the history of pins.
  await client.query(`update listings set pinned = true where state = 'live' and id in (select id from listings
    where state = 'live' order by abs(id - ${listings} * 0.7) limit 5)`);
  tell('seeding: vacuum, analyze');
  await client.query('vacuum (analyze)');
  tell(`seeded in ${((performance.now() - begin) / 1_000).toFixed(1)} s`);
}

/** Makes the next rows while the server loads the previous ones. */
async function copyListings(
  client: ClientBase,
  seeded: Seeded,
  { signal, tell }: Pick<SeedOrder, 'signal' | 'tell'>,
): Promise<void> {
  const { listings, seed } = seeded;
  const make = createGoods(seed, seeded);
  await withCopyFolder(async (folder) => {
    let copying: Promise<void> = Promise.resolve();
    let told = performance.now();
    for (let first = 1; first <= listings; first += CHUNK) {
      signal.throwIfAborted();
      const count = Math.min(CHUNK, listings - first + 1);
      const goods = Array.from({ length: count }, (_, index) => make(first + index));
      const rows = await writeRows(
        folder,
        `listings-${first}`,
        goods.map((one) => listingLine(one, seeded)),
      );
      const counts = await writeRows(folder, `counts-${first}`, goods.map(countLine));
      await copying;
      copying = copyFile(client, { table: 'listings', columns: LISTING_COLUMNS }, rows).then(() =>
        copyFile(client, { table: 'bench.counts', columns: COUNT_COLUMNS }, counts),
      );
      // Awaited in the next round. Until then a failure must not count as unhandled.
      copying.catch(() => {});
      // Let the statement leave before this thread is busy again.
      await systemClock.sleep(0);
      if (performance.now() - told > 5_000) {
        tell(`seeding: ${first + count - 1} listings`);
        told = performance.now();
      }
    }
    await copying;
  });
}
