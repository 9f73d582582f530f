import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';
import type { MerchantRow as CatalogMerchant } from '../catalog/feed/store.ts';

export interface MerchantRow extends CatalogMerchant {
  /** Number of live listings. */
  listings: bigint;
  sales: bigint;
}

const selectMerchant = sql`
  select m.id, m.handle, m.joined_at, m.store_line, m.city_handle,
    counted.listings, counted.sales
  from merchants m cross join lateral (
    select coalesce(sum(c.live_listings), 0)::int8 as listings, coalesce(sum(c.sales), 0)::int8 as sales
    from merchant_counters c where c.merchant_id = m.id
  ) counted`;

/** Reads the current row, even if the catalog in memory lags behind. */
export async function readMerchant(database: Queryable, id: bigint): Promise<MerchantRow | null> {
  return database.maybe<MerchantRow>(sql`${selectMerchant} where m.id = ${id}`);
}

/** Writes the line only if it differs from the stored one, because every write makes the catalogs refresh. */
export async function writeStoreLine(database: Queryable, id: bigint, line: string): Promise<void> {
  await database.run(sql`update merchants set store_line = ${line} where id = ${id} and store_line <> ${line}`);
}
