import sql from 'sql-template-tag';
import { UPLOAD_HOURS } from '../../../contract/uploads.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';

/** Lock the listing before, or an erasure may be under way. */
export async function isErased(queryable: Queryable, listingId: bigint): Promise<boolean> {
  const { erased } = await queryable.one<{ erased: boolean }>(
    sql`select exists (select from erasures where listing_id = ${listingId}) as erased`,
  );
  return erased;
}

export interface ErasableGoods {
  /** Null if the listing's row holds the bytes, or they are erased. */
  object_id: bigint | null;
  erased: boolean;
  artifact_commitment: Buffer;
  artifact_bytes: number;
  /** Reason code of the earlier erasure. */
  reason_code: string | null;
  purchases: bigint;
}

/** Returns null if there is no such listing, or it is a thing of a city. */
export async function findGoods(queryable: Queryable, listingId: bigint): Promise<ErasableGoods | null> {
  return await queryable.maybe<ErasableGoods>(
    sql`select a.object_id, a.erased, l.artifact_commitment, l.artifact_bytes, e.reason_code,
        (select count(*) from purchases p where p.listing_id = l.id) as purchases
      from listings l join artifacts a on a.listing_id = l.id left join erasures e on e.listing_id = l.id
      where l.id = ${listingId}`,
  );
}

export async function hasGoods(queryable: Queryable, listingId: bigint): Promise<boolean> {
  return (await findGoods(queryable, listingId)) !== null;
}

/** Finds payments that may still deliver, also those that the seller decides. */
export async function findUndecided(queryable: Queryable, listingId: bigint): Promise<bigint[]> {
  const rows = await queryable.rows<{ id: bigint }>(
    sql`select id from payments where purpose = 'purchase' and listing_id = ${listingId}
        and status in ('verifying', 'settling', 'needs_review') and status not in ('unpaid', 'rejected')
      union all select id from unproven_claims where listing_id = ${listingId} and ended_at is null order by id`,
  );
  return rows.map(({ id }) => id);
}

/** Removes everything but the row. The listing must be removed and locked. */
export async function clearArtifact(
  tx: Tx,
  { listingId, reasonCode, now }: { listingId: bigint; reasonCode: string; now: Date },
): Promise<void> {
  await tx.run(
    sql`insert into erasures (listing_id, reason_code, erased_at) values (${listingId}, ${reasonCode}, ${now})`,
  );
  await tx.run(
    sql`update artifacts set content = null, object_id = null, erased = true where listing_id = ${listingId}`,
  );
  await tx.run(sql`delete from artifact_shapes where listing_id = ${listingId}`);
}

export async function readNames(queryable: Queryable, objectId: bigint): Promise<string[]> {
  const rows = await queryable.rows<{ s3_name: string }>(
    sql`select s3_name from goods_chunks where object_id = ${objectId} and s3_name is not null`,
  );
  return rows.map((row) => row.s3_name);
}

/**
 * Keeps what a restored database refers to. Its list of deletions tells of references that another copy may still have, and its uploads
 * could not be listed while the history was lost.
 */
export async function keepUploads(tx: Tx, now: Date): Promise<void> {
  await tx.run(sql`delete from goods_deletions`);
  const expiresAt = new Date(now.getTime() + UPLOAD_HOURS * 3_600_000);
  await tx.run(
    sql`update uploads set expires_at = greatest(expires_at, ${expiresAt}::timestamptz) where ended_at is null`,
  );
}
