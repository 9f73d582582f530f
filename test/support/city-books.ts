import sql, { raw } from 'sql-template-tag';
import { ACT_KINDS } from '../../src/city/recovery/store.ts';
import type { Database } from '../../src/platform/database/database.ts';

/** All that a city's log of acts tells of, as it stands in the tables. */
export async function cityBooks(database: Database): Promise<Record<string, unknown>> {
  const books: Record<string, unknown> = {};
  for (const kind of ACT_KINDS.filter((name) => name !== 'id_floors')) {
    books[kind] = await database.rows(sql`select to_jsonb(t) as row from ${raw(kind)} t order by to_jsonb(t)::text`);
  }
  return books;
}
