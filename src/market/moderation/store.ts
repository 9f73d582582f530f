import sql from 'sql-template-tag';
import type { Tx } from '../../platform/database/database.ts';

export interface Removal {
  reasonCode: string;
  reason: string;
  removedBy: bigint;
  now: Date;
}

/** Title and preview stay in the row for a later restore; no response shows them. */
export function markRemoved(tx: Tx, id: bigint, { reasonCode, reason, removedBy, now }: Removal): void {
  tx.later(
    sql`update listings set state = 'removed', removed_at = ${now}, removed_reason = ${reason},
        removed_reason_code = ${reasonCode}
      where id = ${id}`,
  );
  tx.later(
    sql`insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
      values (${id}, ${reasonCode}, ${reason}, ${removedBy}, ${now})`,
  );
}

export function setPinned(tx: Tx, id: bigint, pinned: boolean): void {
  tx.later(sql`update listings set pinned = ${pinned} where id = ${id}`);
}
