import sql, { empty, type Sql } from 'sql-template-tag';
import type { Aisle, ListingState } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** Everything public about a listing. The artifact is in another table, out of reach of these queries. */
export interface ListingRow {
  id: bigint;
  merchant: string;
  title: string;
  description: string;
  preview: string;
  price_units: bigint;
  seller_wallet: Buffer;
  tags: string[];
  aisle: Aisle;
  state: ListingState;
  pinned: boolean;
  created_at: Date;
  removed_at: Date | null;
  removed_reason: string | null;
  removed_reason_code: string | null;
  withdrawn_at: Date | null;
  withdrawn_reason: string | null;
  artifact_commitment: Buffer;
  artifact_bytes: number;
  artifact_media_type: string;
  sales: bigint;
  verified_sales: bigint;
}

const columns = sql`l.id, m.handle as merchant, l.title, l.description, l.preview, l.price_units, l.seller_wallet, l.tags,
  l.aisle, l.state, l.pinned, l.created_at, l.removed_at, l.removed_reason, l.removed_reason_code, l.withdrawn_at,
  l.withdrawn_reason, l.artifact_commitment, l.artifact_bytes, l.artifact_media_type, sold.sales, sold.verified_sales`;

// A payer stands once in the purchases of a listing, so rows are distinct wallets.
const joined = sql`join merchants m on m.id = l.merchant_id
  cross join lateral (
    select count(*) as sales, count(*) filter (where p.paid_units > 0 and p.payer is not null and not exists (
      select from listings own where own.seller_wallet = p.payer and own.merchant_id = l.merchant_id
    )) as verified_sales
    from purchases p where p.listing_id = l.id
  ) sold`;

export async function readListing(database: Queryable, id: bigint): Promise<ListingRow | null> {
  return database.maybe<ListingRow>(sql`select ${columns} from listings l ${joined} where l.id = ${id}`);
}

export interface ShelfSlice {
  /** The last act of pinning that this walk knows. */
  pins: bigint;
  newestId: bigint;
  /** Live listings by aisle; an aisle without any is left out. */
  live: Partial<Record<Aisle, number>>;
  rows: (ListingRow & { leads: boolean })[];
}

/** Where a walk stands: rows below these ids are still to come, among the pinned and among the others. */
export interface ShelfPlace {
  pins: bigint;
  pinnedBelow: bigint;
  othersBelow: bigint;
}

/** One statement, so that counts and rows are of one moment. `place` is null at the beginning of a walk. */
export async function readShelf(
  database: Queryable,
  shelf: { aisle: Aisle | undefined; limit: number; place: ShelfPlace | null },
): Promise<ShelfSlice> {
  const { aisle, limit, place } = shelf;
  const inAisle = aisle === undefined ? empty : sql`and l.aisle = ${aisle}`;
  const below = (id: bigint | undefined): Sql => (id === undefined ? empty : sql`and l.id < ${id}`);
  const pins =
    place === null ? sql`(select coalesce(max(greatest(began, ended)), 0) from pin_periods)` : sql`${place.pins}::int8`;
  const found = await database.rows<Facts & (Row | NoRow)>(sql`
    with walk as materialized (select ${pins} as pins),
    pinned as materialized (
      select p.listing_id as id from pin_periods p, walk
      where p.began <= walk.pins and (p.ended is null or p.ended > walk.pins)
    ),
    page as (
      (select l.id, true as leads from listings l
       where l.state = 'live' and l.id in (select id from pinned) ${inAisle} ${below(place?.pinnedBelow)}
       order by l.id desc limit ${limit})
      union all
      (select l.id, false as leads from listings l
       where l.state = 'live' and l.id not in (select id from pinned) ${inAisle} ${below(place?.othersBelow)}
       order by l.id desc limit ${limit})
      order by leads desc, id desc limit ${limit}
    ),
    facts as (
      select walk.pins, (select coalesce(max(id), 0) from listings) as newest_id, (
        select coalesce(jsonb_object_agg(aisle, live), '{}')
        from (select aisle, count(*) as live from listings where state = 'live' group by aisle) counted
      ) as live
      from walk
    )
    select facts.pins, facts.newest_id, facts.live, page.leads, ${columns}
    from facts left join (page join listings l on l.id = page.id ${joined}) on true
    order by page.leads desc, page.id desc`);
  const [first] = found;
  return {
    pins: first?.pins ?? 0n,
    newestId: first?.newest_id ?? 0n,
    live: first?.live ?? {},
    rows: found.flatMap((row) => (row.id === null ? [] : [row])),
  };
}

interface Facts {
  pins: bigint;
  newest_id: bigint;
  live: Partial<Record<Aisle, number>>;
}
type Row = ListingRow & { leads: boolean };
type NoRow = { [K in keyof Row]: null };

export interface MerchantPage {
  merchantId: bigint;
  /** Of every state, as only the merchant sees them; else live ones only. */
  everyState?: boolean;
  /** Null: no end. */
  limit: number | null;
  beforeId: bigint | null;
}

export async function readListingsOf(database: Queryable, page: MerchantPage): Promise<ListingRow[]> {
  const live = page.everyState === true ? empty : sql`and l.state = 'live'`;
  const older = page.beforeId === null ? empty : sql`and l.id < ${page.beforeId}`;
  const end = page.limit === null ? empty : sql`limit ${page.limit}`;
  return database.rows<ListingRow>(sql`
    select ${columns} from listings l ${joined}
    where l.merchant_id = ${page.merchantId} ${live} ${older} order by l.id desc ${end}`);
}

/** Every listing is live at first, so any listing of the merchant was in the walk of its store. */
export async function isListingOf(database: Queryable, merchantId: bigint, id: bigint): Promise<boolean> {
  const { known } = await database.one<{ known: boolean }>(
    sql`select exists (select from listings where id = ${id} and merchant_id = ${merchantId}) as known`,
  );
  return known;
}
