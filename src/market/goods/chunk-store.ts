import sql, { type Sql } from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { ObjectStore } from '../../platform/object-store.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';

/** Bytes of uploaded goods are stored and read in chunks of this size, except the last one of a request. */
export const CHUNK_BYTES = 524_288;

/** Deletes an object of the S3 store whose chunk was never committed. Longer than any request takes. */
const ABANDONED_AFTER_MS = 86_400_000;

/** Place of a chunk: in its row, or under a name in the S3 store. */
export type ChunkPlace = { content: Buffer } | { s3Name: string };

type Storing = Pick<Market, 'database' | 'clock' | 'random' | 'objectStore'>;

export function storeNameOf({ objectStore }: Pick<Market, 'objectStore'>): 'postgres' | 's3' {
  return objectStore === null ? 'postgres' : 's3';
}

/** Stores a chunk of an object, and returns what its row must hold. Call `claimPlace` when the row is written. */
export async function placeChunk(market: Storing, store: 'postgres' | 's3', bytes: Buffer): Promise<ChunkPlace> {
  if (store === 'postgres') return { content: bytes };
  const objects = mustHaveStore(market);
  const s3Name = `goods/${market.random.bytes(24).toString('hex')}`;
  const dueAt = new Date(market.clock.now() + ABANDONED_AFTER_MS);
  // Entered first, so that an object whose request was killed is deleted later.
  await market.database.run(sql`insert into goods_deletions (s3_name, due_at) values (${s3Name}, ${dueAt})`);
  await objects.put(s3Name, bytes);
  return { s3Name };
}

/** Builds the statement that keeps a place whose row was just written. */
export function claimPlace(place: ChunkPlace): Sql | null {
  return 'content' in place ? null : sql`delete from goods_deletions where s3_name = ${place.s3Name}`;
}

function mustHaveStore({ objectStore }: Pick<Market, 'objectStore'>): ObjectStore {
  if (objectStore !== null) return objectStore;
  throw new Refusal('unavailable', { detail: 'The market is not connected to the store of these goods.' });
}

interface ChunkRow {
  start: bigint;
  bytes: number;
  s3_name: string | null;
}

export interface ByteRange {
  from: number;
  /** Exclusive. */
  to: number;
}

/** Reads a range of an object chunk by chunk. Throws if a byte is missing, so that damaged goods never look whole. */
export async function* readObject(
  { database, objectStore }: Pick<Market, 'database' | 'objectStore'>,
  objectId: bigint,
  { from, to }: ByteRange,
): AsyncGenerator<Buffer> {
  let at = from;
  for (const chunk of await chunksOf(database, objectId, { from, to })) {
    const start = Number(chunk.start);
    if (start > at) break;
    const range = { from: at - start, to: Math.min(to - start, chunk.bytes) };
    const pieces =
      chunk.s3_name === null
        ? await readContent(database, objectId, chunk.start, range)
        : [await mustHaveStore({ objectStore }).get(chunk.s3_name, range)];
    if (sizeOf(pieces) !== range.to - range.from) break;
    yield* pieces;
    at += range.to - range.from;
  }
  if (at !== to) throw new Error(`goods object ${objectId} has no bytes from ${at} on`);
}

async function chunksOf(queryable: Queryable, objectId: bigint, { from, to }: ByteRange): Promise<ChunkRow[]> {
  return await queryable.rows<ChunkRow>(
    sql`select start, bytes, s3_name from goods_chunks
      where object_id = ${objectId} and start < ${to} and start + bytes > ${from} order by start`,
  );
}

/**
 * Rows of a chunk that are read at once. For rows larger than what it reads from its socket, the driver doubles a buffer again and again,
 * and the memory that these leave behind is many times the chunk.
 */
const ROW_BYTES = 24_576;

async function readContent(
  queryable: Queryable,
  objectId: bigint,
  start: bigint,
  { from, to }: ByteRange,
): Promise<Buffer[]> {
  const rows = await queryable.rows<{ content: Buffer }>(
    sql`select substring(content from at + 1 for least(${ROW_BYTES}::int, ${to}::int - at)) as content
      from goods_chunks, generate_series(${from}::int, ${to - 1}::int, ${ROW_BYTES}::int) as at
      where object_id = ${objectId} and start = ${start} order by at`,
  );
  return rows.map(({ content }) => content);
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Deletes the chunks of an object from an offset on. Objects of the S3 store are deleted at `dueAt`. */
export async function deleteChunks(tx: Tx, objectId: bigint, from: number, dueAt: Date): Promise<void> {
  await tx.run(
    sql`with gone as (delete from goods_chunks where object_id = ${objectId} and start >= ${from} returning s3_name)
      insert into goods_deletions (s3_name, due_at) select s3_name, ${dueAt}::timestamptz from gone where s3_name is not null
      on conflict (s3_name) do nothing`,
  );
}
