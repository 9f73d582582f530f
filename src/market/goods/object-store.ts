import { createHash, type Hash } from 'node:crypto';
import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { deleteChunks, readObject } from './chunk-store.ts';

/** Objects of the S3 store are deleted this long after the last reference to them, so that a restored database still finds them. */
const DELETED_AFTER_MS = 30 * 86_400_000;

/** Hashes of whole goods. The commitment is SHA-256 over salt and bytes. */
export interface Digest {
  sha256: Buffer;
  salt: Buffer;
  commitment: Buffer;
}

/** Uploaded goods whose bytes have all arrived. */
export interface StoredGoods extends Digest {
  objectId: bigint;
  bytes: number;
}

export async function createObject(
  tx: Tx,
  { store, bytes, now }: { store: 'postgres' | 's3'; bytes: number; now: Date },
): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into goods_objects (store, bytes, created_at) values (${store}, ${bytes}, ${now}) returning id`,
  );
  return id;
}

/** Computes hash and commitment while bytes pass by in order. */
export interface Digester {
  update(bytes: Uint8Array): void;
  digest(): Digest;
}

export function createDigester({ random }: Pick<Market, 'random'>): Digester {
  const salt = random.bytes(32);
  const hashes: [Hash, Hash] = [createHash('sha256'), createHash('sha256').update(salt)];
  return {
    update: (bytes) => {
      for (const hash of hashes) hash.update(bytes);
    },
    digest: () => ({ salt, sha256: hashes[0].digest(), commitment: hashes[1].digest() }),
  };
}

/** Reads a complete object and computes its digest. */
export async function digestObject(
  market: Pick<Market, 'database' | 'objectStore' | 'random'>,
  objectId: bigint,
  bytes: number,
): Promise<Digest> {
  const digester = createDigester(market);
  for await (const piece of readObject(market, objectId, { from: 0, to: bytes })) digester.update(piece);
  return digester.digest();
}

/** Stores the digest of a complete object. Of several computed at once the first one stays, and is returned. */
export async function fixDigest(tx: Tx, objectId: bigint, { sha256, salt, commitment }: Digest): Promise<Digest> {
  await tx.run(
    sql`update goods_objects set sha256 = ${sha256}, salt = ${salt}, commitment = ${commitment}
      where id = ${objectId} and sha256 is null`,
  );
  return await tx.one<Digest>(sql`select sha256, salt, commitment from goods_objects where id = ${objectId}`);
}

export async function findStored(queryable: Queryable, objectId: bigint): Promise<StoredGoods | null> {
  const row = await queryable.maybe<Digest & { bytes: bigint }>(
    sql`select bytes, sha256, salt, commitment from goods_objects where id = ${objectId} and sha256 is not null`,
  );
  return row && { ...row, objectId, bytes: Number(row.bytes) };
}

/** When objects of the S3 store are deleted to which nothing refers from now on. */
export function deletionTime(now: Date): Date {
  return new Date(now.getTime() + DELETED_AFTER_MS);
}

/** Deletes an object that neither a listing nor an upload refers to any more. By default S3 objects stay for a while, see `deletionTime`. */
export async function deleteObject(tx: Tx, objectId: bigint, now: Date, dueAt = deletionTime(now)): Promise<void> {
  await deleteChunks(tx, objectId, 0, dueAt);
  await tx.run(sql`delete from goods_objects where id = ${objectId}`);
}
