import { readFile } from 'node:fs/promises';
import type { ClientBase } from 'pg';

/**
 * From the line COUNTS_FROM on, this migration counts existing rows. The counts are needed, because the triggers are off while rows are
 * loaded.
 */
const COUNTERS = new URL('../../migrations/market/0021-counters.sql', import.meta.url);
const COUNTS_FROM = '-- What there is.';

/** Fills the tables of counters from the rows that were loaded without triggers. */
export async function countRows(client: ClientBase): Promise<void> {
  await client.query(`truncate listing_counters, aisle_counters, merchant_counters, sales_of_merchants, replies_to_merchants,
    fee_payers, fee_days, row_counters`);
  const counters = await readFile(COUNTERS, 'utf8');
  await client.query(counters.slice(counters.indexOf(COUNTS_FROM)));
}
