import sql, { empty } from 'sql-template-tag';
import type { UploadState } from '../../../contract/uploads.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type ChunkPlace, claimPlace } from '../chunk-store.ts';

export interface Upload {
  id: string;
  merchantId: bigint;
  /** Null once the bytes are deleted or belong to a listing. */
  objectId: bigint | null;
  store: 'postgres' | 's3' | null;
  bytes: number;
  /** Bytes that are stored and acknowledged. */
  received: number;
  sha256: Buffer | null;
  filename: string | null;
  mediaType: string | null;
  createdAt: Date;
  expiresAt: Date;
  paymentId: bigint | null;
  listingId: bigint | null;
  endedAt: Date | null;
}

interface Row {
  id: string;
  merchant_id: bigint;
  object_id: bigint | null;
  store: 'postgres' | 's3' | null;
  bytes: bigint;
  received: bigint;
  sha256: Buffer | null;
  filename: string | null;
  media_type: string | null;
  created_at: Date;
  expires_at: Date;
  payment_id: bigint | null;
  listing_id: bigint | null;
  ended_at: Date | null;
}

const columns = sql`u.id, u.merchant_id, u.object_id, o.store, u.bytes, u.received, u.sha256, u.filename, u.media_type, u.created_at,
  u.expires_at, u.payment_id, u.listing_id, u.ended_at`;
const joined = sql`uploads u left join goods_objects o on o.id = u.object_id`;

function uploadOf(row: Row): Upload {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    objectId: row.object_id,
    store: row.store,
    bytes: Number(row.bytes),
    received: Number(row.received),
    sha256: row.sha256,
    filename: row.filename,
    mediaType: row.media_type,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    paymentId: row.payment_id,
    listingId: row.listing_id,
    endedAt: row.ended_at,
  };
}

/** An upload that has expired is `deleted`, even before its bytes are. */
export function stateOf(upload: Upload, now: number): UploadState {
  if (upload.listingId !== null) return 'listed';
  if (upload.paymentId !== null) return 'held';
  if (upload.endedAt !== null || upload.expiresAt.getTime() <= now) return 'deleted';
  return upload.received === upload.bytes ? 'complete' : 'open';
}

export async function findUpload(queryable: Queryable, merchantId: bigint, id: string): Promise<Upload | null> {
  const row = await queryable.maybe<Row>(
    sql`select ${columns} from ${joined} where u.id = ${id} and u.merchant_id = ${merchantId}`,
  );
  return row && uploadOf(row);
}

/** Finds the upload whose bytes a fee holds. */
export async function findUploadOfPayment(queryable: Queryable, paymentId: bigint): Promise<Upload | null> {
  const row = await queryable.maybe<Row>(sql`select ${columns} from ${joined} where u.payment_id = ${paymentId}`);
  return row && uploadOf(row);
}

export async function listUploadsOf(queryable: Queryable, merchantId: bigint, limit: number): Promise<Upload[]> {
  const rows = await queryable.rows<Row>(
    sql`select ${columns} from ${joined} where u.merchant_id = ${merchantId} order by u.created_at desc, u.id limit ${limit}`,
  );
  return rows.map(uploadOf);
}

/** Counts what a merchant has staged. Call it under the merchant's lock, see `lockUploads`. */
export async function readStaged(tx: Tx, merchantId: bigint, now: Date): Promise<{ open: number; bytes: number }> {
  const row = await tx.one<{ open: bigint; bytes: bigint }>(
    sql`select count(*) filter (where received < bytes and expires_at > ${now}) as open, coalesce(sum(bytes), 0)::bigint as bytes
      from uploads where merchant_id = ${merchantId} and ended_at is null`,
  );
  return { open: Number(row.open), bytes: Number(row.bytes) };
}

/** Adds up the bytes of all goods that came as uploads, with those that are announced. */
export async function readGoodsBytes(queryable: Queryable): Promise<number> {
  const row = await queryable.one<{ bytes: bigint }>(
    sql`select coalesce(sum(bytes), 0)::bigint as bytes from goods_objects`,
  );
  return Number(row.bytes);
}

/** Returns the bytes of all uploads not listed yet whose merchants have paid no fee. */
export async function readNewcomerBytes(queryable: Queryable): Promise<number> {
  const row = await queryable.one<{ bytes: bigint }>(
    sql`select coalesce(sum(u.bytes), 0)::bigint as bytes from uploads u
      where u.ended_at is null and not exists (select from listings l where l.merchant_id = u.merchant_id and l.fee_id is not null)`,
  );
  return Number(row.bytes);
}

/** Returns true if the merchant has a listing whose fee it paid, which is recorded once the fee is final. */
export async function hasPaidFee(queryable: Queryable, merchantId: bigint): Promise<boolean> {
  const row = await queryable.one<{ has: boolean }>(
    sql`select exists (select from listings where merchant_id = ${merchantId} and fee_id is not null) as has`,
  );
  return row.has;
}

/** Makes the uploads of a merchant begin one after another, so that their number and size stay within the limits. */
export async function lockUploads(tx: Tx, merchantId: bigint): Promise<void> {
  await tx.lock(`uploads:${merchantId}`);
}

export interface NewUpload {
  id: string;
  merchantId: bigint;
  objectId: bigint;
  bytes: number;
  filename: string | null;
  mediaType: string | null;
  now: Date;
  expiresAt: Date;
}

export async function insertUpload(tx: Tx, upload: NewUpload): Promise<void> {
  await tx.run(
    sql`insert into uploads (id, merchant_id, object_id, bytes, filename, media_type, created_at, expires_at)
      values (${upload.id}, ${upload.merchantId}, ${upload.objectId}, ${upload.bytes}, ${upload.filename}, ${upload.mediaType},
        ${upload.now}, ${upload.expiresAt})`,
  );
}

/** Makes this request the writer, in place of an earlier one. Returns false if the upload is not open at that offset. */
export async function takeWriter(
  tx: Tx,
  { id, offset, writer, now }: { id: string; offset: number; writer: Buffer; now: Date },
): Promise<boolean> {
  const rowCount = await tx.run(
    sql`update uploads set writer = ${writer}
      where id = ${id} and received = ${offset} and received < bytes and ended_at is null and expires_at > ${now}`,
  );
  return rowCount === 1;
}

export interface ChunkToAdd {
  upload: Pick<Upload, 'id' | 'objectId'>;
  writer: Buffer;
  start: number;
  bytes: number;
  place: ChunkPlace;
  /** True: the bytes count as received at once. False: they do once `raiseReceived` says so, because their checksum is not known yet. */
  acknowledged: boolean;
}

/** Writes a chunk. Returns false if another request has become the writer, or the upload has ended. */
export async function addChunk(tx: Tx, chunk: ChunkToAdd): Promise<boolean> {
  const { upload, writer, start, bytes, place, acknowledged } = chunk;
  const [content, s3Name] = 'content' in place ? [place.content, null] : [null, place.s3Name];
  const received = acknowledged ? sql`, received = ${start + bytes}` : empty;
  const rowCount = await tx.run(
    sql`with mine as (
        update uploads set writer = writer ${received} where id = ${upload.id} and writer = ${writer} and ended_at is null returning object_id
      )
      insert into goods_chunks (object_id, start, bytes, content, s3_name)
      select object_id, ${start}::bigint, ${bytes}::int, ${content}::bytea, ${s3Name}::text from mine`,
  );
  const claim = claimPlace(place);
  if (rowCount === 1 && claim !== null) tx.later(claim);
  return rowCount === 1;
}

/** Acknowledges chunks whose checksum was right. Returns false if another request has become the writer. */
export async function raiseReceived(tx: Tx, id: string, writer: Buffer, received: number): Promise<boolean> {
  const rowCount = await tx.run(
    sql`update uploads set received = ${received} where id = ${id} and writer = ${writer} and ended_at is null`,
  );
  return rowCount === 1;
}

/** Returns false if the bytes are not all acknowledged, or not here any more. */
export async function setHash(tx: Tx, id: string, sha256: Buffer): Promise<boolean> {
  const rowCount = await tx.run(
    sql`update uploads set sha256 = ${sha256} where id = ${id} and received = bytes and object_id is not null`,
  );
  return rowCount === 1;
}

/** Hands the bytes to a fee. Returns false if they are not complete, or anything else has them. */
export async function holdUpload(tx: Tx, id: string, paymentId: bigint, now: Date): Promise<boolean> {
  const rowCount = await tx.run(
    sql`update uploads set payment_id = ${paymentId}
      where id = ${id} and sha256 is not null and payment_id is null and ended_at is null and expires_at > ${now}`,
  );
  return rowCount === 1;
}

/** Locks the upload whose bytes a fee holds until the transaction ends. */
export async function lockUploadOfPayment(tx: Tx, paymentId: bigint): Promise<Upload | null> {
  const row = await tx.maybe<Row>(
    sql`select ${columns} from ${joined} where u.payment_id = ${paymentId} for update of u`,
  );
  return row && uploadOf(row);
}

/** Locks an upload until the transaction ends. Returns false if its bytes are not complete, or anything else has them. */
export async function lockListable(tx: Tx, id: string, now: Date): Promise<boolean> {
  const row = await tx.maybe(
    sql`select from uploads
      where id = ${id} and sha256 is not null and payment_id is null and ended_at is null and expires_at > ${now} for update`,
  );
  return row !== null;
}

/** Gives the bytes back to an upload whose fee has ended under an older version, which does not know of uploads. */
export async function releaseDecided(queryable: Queryable, id: string, expiresAt: Date): Promise<boolean> {
  const rowCount = await queryable.run(
    sql`update uploads u set payment_id = null, expires_at = greatest(u.expires_at, ${expiresAt}::timestamptz) from payments p
      where u.id = ${id} and p.id = u.payment_id and p.status not in ('verifying', 'settling')`,
  );
  return rowCount === 1;
}

/** Gives the bytes of a fee that made no listing back to the upload. */
export async function releaseUpload(tx: Tx, paymentId: bigint, expiresAt: Date): Promise<void> {
  await tx.run(
    sql`update uploads set payment_id = null, expires_at = greatest(expires_at, ${expiresAt}::timestamptz)
      where payment_id = ${paymentId}`,
  );
}

/** Passes the bytes to a listing. Returns false if another listing or fee has them. */
export async function listUpload(
  tx: Tx,
  by: { objectId: bigint; paymentId: bigint | null; listingId: bigint; now: Date },
): Promise<boolean> {
  const rowCount = await tx.run(
    sql`update uploads set listing_id = ${by.listingId}, payment_id = null, object_id = null, ended_at = ${by.now}
      where object_id = ${by.objectId} and payment_id is not distinct from ${by.paymentId} and ended_at is null`,
  );
  return rowCount === 1;
}

/** Ends an upload that nothing holds. Returns the object to delete, or null if there is none or something holds it. */
export async function endUpload(tx: Tx, id: string, now: Date): Promise<bigint | null> {
  const row = await tx.maybe<{ object_id: bigint }>(
    sql`with ending as (
        select id, object_id from uploads where id = ${id} and payment_id is null and ended_at is null for update
      )
      update uploads u set ended_at = ${now}, object_id = null, writer = null from ending e where u.id = e.id returning e.object_id`,
  );
  return row?.object_id ?? null;
}
