import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';
import { type Losses, lossColumns } from '../../platform/log-copy/store.ts';

export interface MarketLosses extends Losses {
  /** Whether some merchant still has to replace its key after a recovery. */
  locks: boolean;
  /** When the last recovery was; null: there was none. */
  recoveredAt: Date | null;
}

export async function readLosses(queryable: Queryable): Promise<MarketLosses> {
  return queryable.one<MarketLosses>(sql`
    select ${lossColumns},
      exists (select from identity_locks) as locks,
      (select max(at) from recoveries) as "recoveredAt"`);
}
