import sql from 'sql-template-tag';
import type { Tx } from '../../../platform/database/database.ts';

/**
 * Deletes some of the changes older than that, and notes up to where none can be relied on any more. Only of transactions that every
 * running one came after: so the note never passes what is still to be written, and a reader that is up to date is never sent back.
 */
export async function deleteOldChanges(tx: Tx, olderThanMs: number, most: number): Promise<number> {
  const { count, highest } = await tx.one<{ count: number; highest: string | null }>(sql`
    with old as (
      select ctid from catalog_changes
      where noted_at < clock_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
        and xid < pg_snapshot_xmin(pg_current_snapshot())
      order by noted_at limit ${most}
    ), gone as (
      delete from catalog_changes where ctid in (select ctid from old) returning xid
    )
    select count(*)::int4 as count, max(xid)::text as highest from gone`);
  if (highest !== null) {
    const keptFrom = (BigInt(highest) + 1n).toString();
    // A mark from ahead of all transactions came with a dump from another server, and would hide this one.
    await tx.run(sql`
      update catalog_state set kept_from = case when kept_from > pg_snapshot_xmax(pg_current_snapshot()) then ${keptFrom}::xid8
        else greatest(kept_from, ${keptFrom}::xid8) end`);
  }
  return count;
}
