import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';
import { type Losses, lossColumns } from '../../platform/log-copy/store.ts';
import { RECENT_RECOVERY_MS } from '../payments/lost/store.ts';

export interface MarketLosses extends Losses {
  /** Whether a recovery waits for somebody to replace a key. */
  locks: boolean;
  /** Whether a recovery is so young that buyers may not know what became of their payments. */
  recent: boolean;
}

export async function readLosses(queryable: Queryable, now: number): Promise<MarketLosses> {
  return queryable.one<MarketLosses>(sql`
    select ${lossColumns},
      exists (select from identity_locks) as locks,
      exists (select from recoveries where at > ${new Date(now - RECENT_RECOVERY_MS)}) as recent`);
}
