import sql, { empty, raw } from 'sql-template-tag';
import type { Aisle, ListingState } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** Everything public about a listing. The artifact is in another table, out of reach of these queries. */
export interface ListingRow {
  id: bigint;
  merchant_id: bigint;
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
  edited_act: bigint;
  votes: bigint;
  sales: bigint;
  verified_sales: bigint;
}

// A payer stands once in the purchases of a listing, so rows are distinct wallets.
const listings = raw(`
  select l.id, l.merchant_id, m.handle as merchant, l.title, l.description, l.preview, l.price_units, l.seller_wallet, l.tags,
    l.aisle, l.state, l.pinned, l.created_at, l.removed_at, l.removed_reason, l.removed_reason_code, l.withdrawn_at,
    l.withdrawn_reason, l.artifact_commitment, l.artifact_bytes, l.artifact_media_type, l.edited_act,
    sold.sales, sold.verified_sales, (select count(*) from votes v where v.listing_id = l.id) as votes
  from listings l join merchants m on m.id = l.merchant_id
  cross join lateral (
    select count(*) as sales, count(*) filter (where p.paid_units > 0 and p.payer is not null and not exists (
      select from listings own where own.seller_wallet = p.payer and own.merchant_id = l.merchant_id
    )) as verified_sales
    from purchases p where p.listing_id = l.id
  ) sold`);

export async function readListing(database: Queryable, id: bigint): Promise<ListingRow | null> {
  return database.maybe<ListingRow>(sql`${listings} where l.id = ${id}`);
}

/** Those of these ids that there are. */
export async function readListings(database: Queryable, ids: readonly bigint[]): Promise<ListingRow[]> {
  return database.rows<ListingRow>(sql`${listings} where l.id = any(${ids}) order by l.id`);
}

/** Of every state, oldest first, for reading all of them in portions. */
export async function readListingsFrom(database: Queryable, after: bigint, limit: number): Promise<ListingRow[]> {
  return database.rows<ListingRow>(sql`${listings} where l.id > ${after} order by l.id limit ${limit}`);
}

/** Of every state, as only the merchant sees them. */
export async function readListingsOf(
  database: Queryable,
  page: { merchantId: bigint; limit: number; beforeId: bigint | null },
): Promise<ListingRow[]> {
  const older = page.beforeId === null ? empty : sql`and l.id < ${page.beforeId}`;
  return database.rows<ListingRow>(sql`
    ${listings} where l.merchant_id = ${page.merchantId} ${older} order by l.id desc limit ${page.limit}`);
}
