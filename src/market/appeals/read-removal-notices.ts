import type { RemovalNotice } from '../../contract/appeals.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** Listings of that merchant that are removed now, the newest removal first, at most 200. */
export async function readRemovalNotices(_queryable: Queryable, _merchantId: bigint): Promise<RemovalNotice[]> {
  return [];
}
