import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { Payment, ReviewOutcome } from '../payment.ts';
import { readPayments } from '../store.ts';

export interface ReviewEnd {
  outcome: ReviewOutcome;
  /** Null: the review was not decided in time. */
  by: bigint | null;
  note: string | null;
  /** Of the transfer that it was taken as paid by, where that was found only now. */
  logIndex: number | null;
  now: Date;
}

/** Call with the row locked and in review. */
export async function endReview(tx: Tx, id: bigint, { outcome, by, note, logIndex, now }: ReviewEnd): Promise<void> {
  await tx.run(
    sql`update payments set status = ${outcome === 'deliver' ? 'completed' : 'rejected'}, review_outcome = ${outcome},
        reviewed_by = ${by}, review_note = ${note}, reviewed_at = ${now}, updated_at = ${now},
        log_index = coalesce(log_index, ${logIndex})
      where id = ${id}`,
  );
}

/** In review since before that time, the oldest first. */
export function listReviewsSince(queryable: Queryable, before: Date, limit: number): Promise<Payment[]> {
  return readPayments(
    queryable,
    (columns) => sql`select ${columns} from payments where status = 'needs_review' and ended_at <= ${before}
      order by ended_at, id limit ${limit}`,
  );
}
