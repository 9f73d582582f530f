import { raw } from 'sql-template-tag';
import type { Database } from '../../src/platform/database/database.ts';

/** Written also for requests that are refused: counts of calls, and what was last read of chain and facilitator. */
const MAY_CHANGE = new Set(['rate_counters', 'facilitator_signers', 'facilitator_readings', 'chain_watermarks']);

/** How many rows each table has, a table of tomorrow included. Two of these are equal when nothing was stored. */
export async function countRows(database: Database): Promise<Record<string, bigint>> {
  const tables = await database.rows<{ name: string }>(
    raw(`select tablename as name from pg_tables where schemaname = current_schema() order by tablename`),
  );
  const names = tables.map(({ name }) => name).filter((name) => !MAY_CHANGE.has(name));
  const counts = names.map((name) => `(select count(*) from "${name}") as "${name}"`);
  return database.one<Record<string, bigint>>(raw(`select ${counts.join(', ')}`));
}
