import sql, { type Sql } from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { deleteChunks } from '../chunk-store.ts';
import { deleteObject, deletionTime } from '../object-store.ts';

/** Ends uploads that nobody listed in time and no fee holds. Returns the objects that nothing refers to any more. Skips rows in use. */
export async function endExpired(queryable: Queryable, now: Date, most: number): Promise<bigint[]> {
  const rows = await queryable.rows<{ object_id: bigint }>(
    sql`with expired as (
        select id, object_id from uploads where ended_at is null and payment_id is null and expires_at <= ${now}
        order by expires_at limit ${most} for update skip locked
      )
      update uploads u set ended_at = ${now}, object_id = null, writer = null from expired e where u.id = e.id returning e.object_id`,
  );
  return rows.map((row) => row.object_id);
}

/** Releases uploads of fees that ended under an older version, which knows no uploads. This version releases them as it ends the fee. */
export async function releaseEnded(queryable: Queryable, expiresAt: Date): Promise<number> {
  return await queryable.run(
    sql`update uploads u set payment_id = null, expires_at = greatest(u.expires_at, ${expiresAt}::timestamptz)
      from payments p where p.id = u.payment_id and p.status not in ('verifying', 'settling')`,
  );
}

const isUnreferenced: Sql = sql`not exists (select from artifacts a where a.object_id = o.id)
  and not exists (select from uploads u where u.object_id = o.id)`;

/** Finds objects without any reference. Only older ones, because the reference to a new one may not be committed yet. */
export async function findUnreferenced(queryable: Queryable, createdBefore: Date, most: number): Promise<bigint[]> {
  const rows = await queryable.rows<{ id: bigint }>(
    sql`select o.id from goods_objects o where o.created_at < ${createdBefore} and ${isUnreferenced} order by o.id limit ${most}`,
  );
  return rows.map(({ id }) => id);
}

/** Deletes the last chunks of an object without any reference, and the object with its first ones. Returns whether chunks are left. */
export async function deletePart(
  tx: Tx,
  objectId: bigint,
  { now, most }: { now: Date; most: number },
): Promise<boolean> {
  // Locked in a statement of its own, so that the next one sees a reference that was committed during the wait.
  await tx.run(sql`select from goods_objects where id = ${objectId} for update`);
  const found = await tx.maybe(sql`select from goods_objects o where o.id = ${objectId} and ${isUnreferenced}`);
  if (found === null) return false;
  const { from } = await tx.one<{ from: bigint | null }>(
    sql`select min(start) as "from" from (
        select start from goods_chunks where object_id = ${objectId} order by start desc limit ${most}
      ) as last`,
  );
  if (from === null || from === 0n) {
    await deleteObject(tx, objectId, now);
    return false;
  }
  await deleteChunks(tx, objectId, Number(from), deletionTime(now));
  return true;
}

export interface DueDeletion {
  s3_name: string;
  /** Whether a chunk refers to the name again. */
  used: boolean;
}

const isUsed: Sql = sql`exists (select from goods_chunks c where c.s3_name = d.s3_name) as used`;

export async function readDueDeletions(queryable: Queryable, now: Date, most: number): Promise<DueDeletion[]> {
  return await queryable.rows<DueDeletion>(
    sql`select d.s3_name, ${isUsed} from goods_deletions d where d.due_at <= ${now} order by d.due_at limit ${most}`,
  );
}

export async function forgetDeletions(queryable: Queryable, names: readonly string[]): Promise<void> {
  await queryable.run(sql`delete from goods_deletions where s3_name = any(${names}::text[])`);
}

/** Tries these names again later, so that they do not keep others waiting. */
export async function postponeDeletions(queryable: Queryable, names: readonly string[], dueAt: Date): Promise<void> {
  await queryable.run(sql`update goods_deletions set due_at = ${dueAt} where s3_name = any(${names}::text[])`);
}

/** Forgets uploads that ended before this time. Returns how many. */
export async function forgetUploads(queryable: Queryable, endedBefore: Date, most: number): Promise<number> {
  return await queryable.run(
    sql`delete from uploads where id in (
        select id from uploads where ended_at < ${endedBefore} order by ended_at limit ${most}
      )`,
  );
}

/** Whether the database has lost events. Nothing is deleted then, because another copy of it may be restored. */
export async function isHistoryLost(queryable: Queryable): Promise<boolean> {
  const { lost } = await queryable.one<{ lost: boolean }>(
    sql`select exists (select from history_losses where recovered_by is null) as lost`,
  );
  return lost;
}

interface CountedRow {
  name: string;
  count: bigint;
  bytes: bigint;
}

export async function countByStore(queryable: Queryable): Promise<CountedRow[]> {
  return await queryable.rows<CountedRow>(
    sql`select store as name, count(*) as count, sum(bytes)::bigint as bytes from goods_objects group by store`,
  );
}

/** Counts uploads that are not listed yet, and the bytes received of them, by state. */
export async function countStaged(queryable: Queryable): Promise<CountedRow[]> {
  return await queryable.rows<CountedRow>(
    sql`select case when payment_id is not null then 'held' when received = bytes then 'complete' else 'open' end as name,
        count(*) as count, sum(received)::bigint as bytes
      from uploads where ended_at is null group by 1`,
  );
}

export async function countDeletions(queryable: Queryable, now: Date): Promise<{ due: bigint; waiting: bigint }> {
  return await queryable.one<{ due: bigint; waiting: bigint }>(
    sql`select count(*) filter (where due_at <= ${now}) as due, count(*) filter (where due_at > ${now}) as waiting
      from goods_deletions`,
  );
}
