import type { ClientBase } from 'pg';
import { systemClock } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { copyFile, withCopyFolder, writeRows } from '../catalog/copy-rows.ts';
import { fingerprintOfText } from './likeness.ts';
import type { Texts } from './texts.ts';

export interface SeedOrder {
  url: string;
  listings: number;
  seed: number;
  texts: Texts;
  signal: AbortSignal;
  tell(line: string): void;
}

/** Raise this when the same seed gives other fingerprints, so that a folder with the old ones is refused. */
const SHAPES = 1;
const CHUNK = 10_000;
const MERCHANTS = 1_000;
/** One listing in this many was withdrawn within the last seven days, and one so long ago that it does not count. */
const WITHDRAWN_EVERY = 40;

/** Fills an empty market with listings and the fingerprints of their artifacts. Omits the artifacts, because no lookup reads them. */
export async function seedShapes(order: SeedOrder): Promise<void> {
  const { url, listings, tell } = order;
  const client = await connectClient({ url, applicationName: 'openaisle-bench-seed', statementTimeoutMs: 0 });
  try {
    if (await isSeeded(client, order)) {
      tell(`the folder holds these ${listings} listings already`);
      return;
    }
    // Disable triggers and foreign keys for this session, because the rows are correct by construction.
    await client.query('set session_replication_role = replica');
    await client.query('set synchronous_commit = off');
    await client.query("set maintenance_work_mem = '512MB'");
    tell(`seeding ${listings} listings`);
    await insertListings(client, listings);
    const { rows } = await client.query<{ definition: string }>(
      "select pg_get_indexdef('artifact_shapes_by_band'::regclass) as definition",
    );
    await client.query('drop index artifact_shapes_by_band');
    await copyShapes(client, order);
    tell('seeding: the index over the bands');
    await client.query(rows[0]?.definition ?? '');
    tell('seeding: vacuum, analyze');
    await client.query('vacuum (analyze) listings, artifact_shapes');
    await client.query(`insert into bench.guarded values (${listings}, ${order.seed}, ${SHAPES})`);
  } finally {
    await client.end();
  }
}

async function isSeeded(client: ClientBase, { listings, seed }: SeedOrder): Promise<boolean> {
  await client.query('create schema if not exists bench');
  await client.query('create table if not exists bench.guarded (listings int, seed int, shapes int)');
  const { rows } = await client.query<{ listings: number; seed: number; shapes: number }>(
    'select * from bench.guarded',
  );
  const [found] = rows;
  if (found === undefined) {
    const { rowCount } = await client.query('select from merchants limit 1');
    if (rowCount !== 0) throw new Error('the data folder holds a market, and none that this benchmark has filled');
    return false;
  }
  if (found.listings === listings && found.seed === seed && found.shapes === SHAPES) return true;
  throw new Error(`the data folder holds ${found.listings} listings of seed ${found.seed}: name another folder`);
}

async function insertListings(client: ClientBase, listings: number): Promise<void> {
  await client.query(`insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    select n, 'merchant-' || n, 'merchant-' || n, 'a model', 'coding_persistent', now() from generate_series(1, ${MERCHANTS}) n`);
  await client.query(`insert into wallet_uses (wallet, kind)
    select substr(sha256(convert_to('wallet ' || n, 'UTF8')), 1, 20), 'ordinary' from generate_series(1, ${MERCHANTS}) n`);
  await client.query(`insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle,
      created_at, state, withdrawn_at, artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
    select n, n % ${MERCHANTS} + 1, 'Goods ' || n, repeat('What it is and does. ', 18), repeat('A look at it. ', 40), 2500000,
      substr(sha256(convert_to('wallet ' || (n % ${MERCHANTS} + 1), 'UTF8')), 1, 20), array['made', 'for-agents'], 'data',
      now() - interval '30 days', case when n % ${WITHDRAWN_EVERY} < 2 then 'withdrawn' else 'live' end,
      case n % ${WITHDRAWN_EVERY} when 0 then now() - interval '1 day' when 1 then now() - interval '20 days' end,
      sha256(convert_to('artifact ' || n, 'UTF8')), 2000, 'utf-8', 'text/plain', sha256(convert_to('body ' || n, 'UTF8'))
    from generate_series(1, ${listings}) n`);
}

/** Makes the next rows while the server loads the previous ones. */
async function copyShapes(client: ClientBase, { listings, texts, signal, tell }: SeedOrder): Promise<void> {
  await withCopyFolder(async (folder) => {
    let copying: Promise<void> = Promise.resolve();
    let told = performance.now();
    for (let first = 1; first <= listings; first += CHUNK) {
      signal.throwIfAborted();
      const count = Math.min(CHUNK, listings - first + 1);
      const lines = Array.from({ length: count }, (_, index) => shapeLine(first + index, texts));
      const file = await writeRows(folder, `shapes-${first}`, lines);
      await copying;
      const table = { table: 'artifact_shapes', columns: ['listing_id', 'bands', 'signature'] };
      copying = copyFile(client, table, file);
      // Awaited in the next round. Until then a failure must not count as unhandled.
      copying.catch(() => {});
      // Let the statement leave before this thread is busy again.
      await systemClock.sleep(0);
      if (performance.now() - told > 20_000) {
        tell(`seeding: the shapes of ${first + count - 1} artifacts`);
        told = performance.now();
      }
    }
    await copying;
  });
}

function shapeLine(id: number, texts: Texts): string {
  const shape = fingerprintOfText(texts.ofListing(id).join(' '));
  if (shape === null) throw new Error('a text without a shape');
  const { bands, signature } = shape;
  return `${id}\t{${bands.join(',')}}\t${signature}`;
}
