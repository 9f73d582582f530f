import sql, { empty, raw, type Sql } from 'sql-template-tag';
import type { Attributes } from '../../contract/listing-fields.ts';
import type { PaymentPurpose, VerifiedVia } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { attributeColumns, type CommentRow, comments, type ReceiptFacts, receiptJson } from '../catalog/store.ts';

export interface PurchaseRow extends Attributes {
  id: bigint;
  listing_id: bigint;
  title: string;
  /** When the maintainer removed the listing. Its title is then hidden. */
  removed_at: Date | null;
  seller: string;
  price_units: bigint;
  paid_units: bigint;
  tx_hash: Buffer | null;
  verified_via: VerifiedVia;
  block_number: bigint | null;
  created_at: Date;
}

export interface BoughtRow extends PurchaseRow {
  payer_collects_only: boolean;
  /** Null for a thing from a city, like the other artifact fields, salt and content. */
  artifact_encoding: 'utf-8' | 'base64' | null;
  artifact_media_type: string | null;
  artifact_filename: string | null;
  salt: Buffer | null;
  content: Buffer | null;
  /** Size and hash of goods that came as an upload. Null for others. */
  upload_bytes: bigint | null;
  upload_sha256: Buffer | null;
  /** Null for goods. */
  receipt: ReceiptFacts | null;
}

export interface SaleRow {
  id: bigint;
  listing_id: bigint;
  title: string;
  removed_at: Date | null;
  buyer: string | null;
  paid_units: bigint;
  tx_hash: Buffer | null;
  verified_via: VerifiedVia;
  created_at: Date;
}

export interface HistoryPage {
  merchantId: bigint;
  limit: number;
  beforeId: bigint | null;
}

export interface PageStart {
  total: bigint;
  /** Whether the cursor is the id of a row of this history. True without a cursor. */
  cursorKnown: boolean;
}

const columns = sql`p.id, p.listing_id, l.title, l.removed_at, seller.handle as seller, p.price_units, p.paid_units, p.tx_hash,
  p.verified_via, p.block_number, p.created_at, ${attributeColumns}`;
const joined = sql`purchases p join listings l on l.id = p.listing_id join merchants seller on seller.id = l.merchant_id`;
const beforeCursor = (beforeId: bigint | null): Sql => (beforeId === null ? empty : sql`and p.id < ${beforeId}`);

/** Reads newest first. */
export async function readPurchases(database: Queryable, page: HistoryPage): Promise<PurchaseRow[]> {
  return database.rows<PurchaseRow>(sql`
    select ${columns} from ${joined}
    where p.merchant_id = ${page.merchantId} ${beforeCursor(page.beforeId)} order by p.id desc limit ${page.limit}`);
}

const goodsColumns = sql`l.artifact_encoding, l.artifact_media_type, l.artifact_filename, a.salt, a.content,
  o.bytes as upload_bytes, o.sha256 as upload_sha256`;
const goodsJoined = sql`left join artifacts a on a.listing_id = l.id left join goods_objects o on o.id = a.object_id`;

/** Also reads the goods, or the receipt of a thing from a city. */
export async function readBought(database: Queryable, page: HistoryPage): Promise<BoughtRow[]> {
  return database.rows<BoughtRow>(sql`
    select ${columns}, p.payer_collects_only, ${goodsColumns}, ${raw(receiptJson)} as receipt
    from ${joined} ${goodsJoined}
      left join world_listings w on w.listing_id = p.world_listing_id left join world_checkouts c on c.id = p.checkout_id
    where p.merchant_id = ${page.merchantId} ${beforeCursor(page.beforeId)} order by p.id desc limit ${page.limit}`);
}

export type OwnGoodsRow = Pick<
  BoughtRow,
  | 'artifact_encoding'
  | 'artifact_media_type'
  | 'artifact_filename'
  | 'salt'
  | 'content'
  | 'upload_bytes'
  | 'upload_sha256'
>;

/** Reads the goods of the merchant's own listing. Null for other listings. */
export async function findOwnGoods(
  queryable: Queryable,
  { merchantId, listingId }: { merchantId: bigint; listingId: bigint },
): Promise<OwnGoodsRow | null> {
  return queryable.maybe<OwnGoodsRow>(sql`
    select ${goodsColumns} from listings l ${goodsJoined}
    where l.id = ${listingId} and l.merchant_id = ${merchantId}`);
}

/** Reads newest first. */
export async function readSales(database: Queryable, page: HistoryPage): Promise<SaleRow[]> {
  const before = page.beforeId === null ? empty : sql`and s.purchase_id < ${page.beforeId}`;
  return database.rows<SaleRow>(sql`
    select p.id, p.listing_id, l.title, l.removed_at, buyer.handle as buyer, p.paid_units, p.tx_hash, p.verified_via, p.created_at
    from sales_of_merchants s join purchases p on p.id = s.purchase_id join listings l on l.id = p.listing_id
      left join merchants buyer on buyer.id = p.merchant_id
    where s.merchant_id = ${page.merchantId} ${before} order by s.purchase_id desc limit ${page.limit}`);
}

export async function readPurchasesStart(database: Queryable, page: HistoryPage): Promise<PageStart> {
  const cursorRow = sql`purchases where merchant_id = ${page.merchantId} and id = ${page.beforeId}`;
  return readPageStart(database, sql`purchases`, cursorRow, page);
}

export async function readSalesStart(database: Queryable, page: HistoryPage): Promise<PageStart> {
  const cursorRow = sql`sales_of_merchants where merchant_id = ${page.merchantId} and purchase_id = ${page.beforeId}`;
  return readPageStart(database, sql`sales`, cursorRow, page);
}

/** Reads others' comments under the merchant's comments and listings, newest first. A comment under both appears once. */
export async function readReplies(database: Queryable, page: HistoryPage): Promise<CommentRow[]> {
  const before = page.beforeId === null ? empty : sql`and comment_id < ${page.beforeId}`;
  return database.rows<CommentRow>(sql`
    ${comments} where c.id in (select comment_id from replies_to_merchants where merchant_id = ${page.merchantId} ${before}
      order by comment_id desc limit ${page.limit})
    order by c.id desc`);
}

export async function readRepliesStart(database: Queryable, page: HistoryPage): Promise<PageStart> {
  const cursorRow = sql`replies_to_merchants where merchant_id = ${page.merchantId} and comment_id = ${page.beforeId}`;
  return readPageStart(database, sql`replies`, cursorRow, page);
}

export async function readListingsStart(database: Queryable, page: HistoryPage): Promise<PageStart> {
  const cursorRow = sql`listings where merchant_id = ${page.merchantId} and id = ${page.beforeId}`;
  return readPageStart(database, sql`listings`, cursorRow, page);
}

/** Reads total and cursor check. `counter` is the column of merchant_counters that counts this history's rows. */
async function readPageStart(database: Queryable, counter: Sql, cursorRow: Sql, page: HistoryPage): Promise<PageStart> {
  const cursorKnown = page.beforeId === null ? sql`true` : sql`exists (select from ${cursorRow})`;
  return database.one<PageStart>(sql`
    select coalesce((select sum(${counter}) from merchant_counters where merchant_id = ${page.merchantId}), 0)::int8 as total,
      ${cursorKnown} as "cursorKnown"`);
}

export interface ReviewRow {
  id: bigint;
  purpose: PaymentPurpose;
  listing_id: bigint | null;
  end_reason: string;
  payer: Buffer;
  payee: Buffer;
  asked_units: bigint;
  received_units: bigint;
  tx_hash: Buffer | null;
  block_time: Date | null;
  ended_at: Date;
}

/** Reads the payments that wait for this merchant's decision: those for its listings, and for the maintainer also listing fees. */
export async function readReviews(
  queryable: Queryable,
  merchant: { id: bigint; maintainer: boolean },
  limit: number,
): Promise<ReviewRow[]> {
  return await queryable.rows<ReviewRow>(sql`
    select p.id, p.purpose, p.listing_id, p.end_reason, p.payer, p.payee, p.value_units as asked_units,
      coalesce(f.value_units, case when p.log_index is null then 0 else p.value_units end) as received_units, p.tx_hash, p.block_time, p.ended_at
    from payments p left join listings l on l.id = p.listing_id
      left join payment_proofs f on f.payment_id = p.id and f.purpose <> 'refund'
    where p.status = 'needs_review'
      and (l.merchant_id = ${merchant.id} or (${merchant.maintainer} and p.purpose = 'listing_fee'))
    order by p.ended_at, p.id limit ${limit}`);
}
