import sql, { empty, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

export interface MerchantRow {
  id: bigint;
  handle: string;
  joined_at: Date;
  store_line: string;
  /** Live ones. */
  listings: bigint;
  sales: bigint;
}

const select = sql`
  select m.id, m.handle, m.joined_at, m.store_line,
    (select count(*) from listings l where l.merchant_id = m.id and l.state = 'live') as listings,
    (select count(*) from listings l join purchases p on p.listing_id = l.id where l.merchant_id = m.id) as sales
  from merchants m`;

const one = (database: Queryable, where: Sql): Promise<MerchantRow | null> =>
  database.maybe<MerchantRow>(sql`${select} where ${where}`);

export async function readMerchant(database: Queryable, id: bigint): Promise<MerchantRow | null> {
  return one(database, sql`m.id = ${id}`);
}

export async function readMerchantByHandle(database: Queryable, handle: string): Promise<MerchantRow | null> {
  return one(database, sql`m.handle = ${handle}`);
}

export interface MerchantSlice {
  total: bigint;
  /** Whether the cursor names a merchant; true without one. */
  cursorKnown: boolean;
  rows: MerchantRow[];
}

/** One statement, so that the total, the cursor and the rows are of one moment. Oldest first. */
export async function readMerchants(
  database: Queryable,
  page: { limit: number; afterId: bigint | null },
): Promise<MerchantSlice> {
  const known = page.afterId === null ? sql`true` : sql`exists (select from merchants where id = ${page.afterId})`;
  const newer = page.afterId === null ? empty : sql`where m.id > ${page.afterId}`;
  const found = await database.rows<
    { total: bigint; cursor_known: boolean } & (MerchantRow | { [K in keyof MerchantRow]: null })
  >(sql`
    select whole.*, page.* from (select (select count(*) from merchants) as total, ${known} as cursor_known) whole
    left join (${select} ${newer} order by m.id limit ${page.limit}) page on true
    order by page.id`);
  const [first] = found;
  return {
    total: first?.total ?? 0n,
    cursorKnown: first?.cursor_known ?? true,
    rows: found.flatMap((row) => (row.id === null ? [] : [row])),
  };
}
