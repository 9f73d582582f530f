import type { Appeal, RemovalNotice } from '../../contract/appeals.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { presentAppealRow } from './present-appeal-row.ts';
import { type NoticeRow, readNotices } from './store.ts';

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
