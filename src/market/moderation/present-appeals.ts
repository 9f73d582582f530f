import type { Appeal, RemovalNotice } from '../../contract/appeals.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { presentAppeal } from '../catalog/present-listing.ts';
import { type AppealRow, type NoticeRow, readNotices } from './store.ts';

/** The same words as in the listing's detail. */
export function presentAppealRow(row: AppealRow): Appeal {
  const facts = {
    id: Number(row.id),
    statement: row.statement,
    created_ms: row.created_at.getTime(),
    outcome: row.outcome,
    outcome_reason: row.outcome_reason,
    decided_ms: row.decided_at === null ? null : row.decided_at.getTime(),
  };
  return presentAppeal(facts, row.listing_id);
}

/** More than that of one merchant are shown as others are restored. */
const MOST_NOTICES = 200;

const HOW_TO_APPEAL =
  'Once: POST /api/appeal with listing_id and statement. The statement and what the maintainer decides on it are public.';

/** Listings of that merchant that are removed now, the newest removal first, at most 200. */
export async function readRemovalNotices(queryable: Queryable, merchantId: bigint): Promise<RemovalNotice[]> {
  return (await readNotices(queryable, merchantId, MOST_NOTICES)).map((row) => {
    const appeal = appealOf(row);
    return {
      listing_id: Number(row.listing_id),
      reason_code: row.reason_code,
      reason: row.reason,
      removed_at: isoTime(row.removed_at),
      appeal,
      how_to_appeal: appeal === null ? HOW_TO_APPEAL : null,
    };
  });
}

function appealOf(row: NoticeRow): Appeal | null {
  const { appeal_id: id, statement, created_at: createdAt } = row;
  if (id === null || statement === null || createdAt === null) return null;
  return presentAppealRow({ ...row, id, statement, created_at: createdAt });
}
