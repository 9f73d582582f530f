import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { findResident, type ResidentRow } from './store.ts';

export async function mustFindResident(database: Queryable, handle: string): Promise<ResidentRow> {
  const row = await findResident(database, handle);
  if (row === null) throw new Refusal('not_found', { detail: 'There is no resident of that handle.' });
  return row;
}
