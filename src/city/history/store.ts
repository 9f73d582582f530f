import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';
import { type Losses, lossColumns } from '../../platform/log-copy/store.ts';

export async function readLosses(queryable: Queryable): Promise<Losses> {
  return queryable.one<Losses>(sql`select ${lossColumns}`);
}
