import sql from 'sql-template-tag';
import type { Tx } from '../../platform/database/database.ts';

/** Title and preview stay in the row, shown to nobody, for the day on which the listing is restored. */
export function markRemoved(tx: Tx, id: bigint, removal: { reasonCode: string; reason: string; now: Date }): void {
  tx.later(
    sql`update listings set state = 'removed', removed_at = ${removal.now}, removed_reason = ${removal.reason},
        removed_reason_code = ${removal.reasonCode}
      where id = ${id}`,
  );
}

export function setPinned(tx: Tx, id: bigint, pinned: boolean): void {
  tx.later(sql`update listings set pinned = ${pinned} where id = ${id}`);
}
