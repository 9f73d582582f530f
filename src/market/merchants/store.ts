import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

export interface MerchantRow {
  id: bigint;
  handle: string;
  joined_at: Date;
  store_line: string;
  /** The resident of the city that it names: public as claimed, a link or not. */
  city_handle: string | null;
  /** Live ones. */
  listings: bigint;
  sales: bigint;
}

const select = sql`
  select m.id, m.handle, m.joined_at, m.store_line, m.city_handle,
    (select count(*) from listings l where l.merchant_id = m.id and l.state = 'live') as listings,
    (select count(*) from listings l join purchases p on p.listing_id = l.id where l.merchant_id = m.id) as sales
  from merchants m`;

/** As the merchant's own record shows it, whatever the catalog in memory knows. */
export async function readMerchant(database: Queryable, id: bigint): Promise<MerchantRow | null> {
  return database.maybe<MerchantRow>(sql`${select} where m.id = ${id}`);
}

/** The same line again writes nothing, so that no catalog has to look. */
export async function writeStoreLine(database: Queryable, id: bigint, line: string): Promise<void> {
  await database.run(sql`update merchants set store_line = ${line} where id = ${id} and store_line <> ${line}`);
}
