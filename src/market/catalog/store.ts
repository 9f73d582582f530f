import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { AppealOutcome } from '../../contract/appeals.ts';
import {
  ATTRIBUTE_NAMES,
  type Attributes,
  FIELD_NAMES,
  type FieldName,
  type FieldValues,
} from '../../contract/listing-fields.ts';
import type { TextFlag } from '../../contract/text.ts';
import { type Aisle, type ListingState, MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

/** A comment as the public sees it. The text of a removed comment is not even read. */
export interface CommentRow {
  id: bigint;
  listing_id: bigint;
  handle: string;
  maintainer: boolean;
  parent_id: bigint | null;
  body: string;
  verified_buyer: boolean;
  created_at: Date;
  removed: boolean;
  removed_reason_code: string | null;
  text_flags: TextFlag[];
}

// Purchases hold only final payments, so a row with a price proves a verified buyer.
const commentColumns = `c.id, c.listing_id, m.handle, c.merchant_id = ${MAINTAINER_MERCHANT_ID} as maintainer, c.parent_id, c.created_at, c.removed_reason_code, c.removed_at is not null as removed,
    case when c.removed_at is null then c.body else '' end as body,
    case when c.removed_at is null then c.text_flags else '{}' end as text_flags,
    exists (
      select from purchases p where p.listing_id = c.listing_id and p.merchant_id = c.merchant_id and p.price_units > 0
        and not p.payer_collects_only
    ) as verified_buyer`;

/** Selects all comments with the columns of a CommentRow. Append `where c.id ...`. */
export const comments = raw(`select ${commentColumns} from comments c join merchants m on m.id = c.merchant_id`);

export async function readComment(queryable: Queryable, id: bigint): Promise<CommentRow | null> {
  return await queryable.maybe<CommentRow>(sql`${comments} where c.id = ${id}`);
}

interface CommentPage {
  total: bigint;
  /** Whether the cursor is the id of a comment on this listing. True without a cursor. */
  cursorKnown: boolean;
  rows: CommentRow[];
}

/** Reads comments, oldest first. Uses one statement, so that total, cursor check and rows show the same moment. */
export async function readCommentPage(
  queryable: Queryable,
  page: { listingId: bigint; afterId: bigint | null; limit: number },
): Promise<CommentPage> {
  const { listingId, afterId, limit } = page;
  const afterCursor = afterId === null ? empty : sql`and c.id > ${afterId}`;
  const cursorKnown =
    afterId === null
      ? sql`true`
      : sql`exists (select from comments where id = ${afterId} and listing_id = ${listingId})`;
  const rows = await queryable.rows<{ total: bigint; cursor_known: boolean } & (CommentRow | { id: null })>(sql`
    select whole.total, whole.cursor_known, page.* from (
      select (select coalesce(sum(comments), 0)::int8 from listing_counters where listing_id = ${listingId}) as total, ${cursorKnown} as cursor_known
    ) whole left join (
      ${comments} where c.listing_id = ${listingId} ${afterCursor} order by c.id limit ${limit}
    ) page on true order by page.id`);
  const [first] = rows;
  return {
    total: first?.total ?? 0n,
    cursorKnown: first?.cursor_known ?? true,
    rows: rows.filter((row) => row.id !== null),
  };
}

// Each listing field is a column of the same name in `listings`, so statements and rows are built from the names.

const columnList = (names: readonly string[], table: string): Sql =>
  raw(names.map((name) => `${table}${name}`).join(', '));

export const fieldColumns = columnList(FIELD_NAMES, '');
export const attributeColumns = columnList(ATTRIBUTE_NAMES, 'l.');

/** Lists the values in the order of `fieldColumns`. */
export const fieldValues = (fields: FieldValues): Sql => join(FIELD_NAMES.map((name) => fields[name]));

export const setFields = (fields: FieldValues): Sql =>
  join(FIELD_NAMES.map((name) => sql`${raw(name)} = ${fields[name]}`));

type PartialFields = { readonly [K in FieldName]?: FieldValues[K] | undefined };

export function fieldsOf(fields: PartialFields): FieldValues {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, fields[name] ?? null])) as FieldValues;
}

export function attributesOf(row: Readonly<Attributes>): Attributes {
  return Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, row[name]])) as Attributes;
}

export interface AppealFacts {
  id: number;
  statement: string;
  created_ms: number;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_ms: number | null;
}

export interface ReceiptFacts {
  offer_id: number;
  thing_id: number;
  thing_url: string;
  city_handle: string;
  tx_hash: string;
  block_number: number;
  claimed_ms: number;
}

export interface WorldFacts {
  city_url: string;
  draft_id: number;
  offer_id: number;
  thing_id: number;
  seller_handle: string;
  offer_url: string;
  thing_url: string;
  receipt: ReceiptFacts | null;
}

/** All public data of a listing. The queries for it never touch the artifacts table. */
export interface ListingRow extends Attributes {
  id: bigint;
  merchant_id: bigint;
  merchant: string;
  title: string;
  description: string;
  preview: string;
  price_units: bigint;
  seller_wallet: Buffer;
  tags: string[];
  keywords: string[];
  aisle: Aisle;
  state: ListingState;
  pinned: boolean;
  created_at: Date;
  removed_at: Date | null;
  removed_reason: string | null;
  removed_reason_code: string | null;
  withdrawn_at: Date | null;
  withdrawn_reason: string | null;
  /** Null for a thing from a city, like the next two fields. */
  artifact_commitment: Buffer | null;
  artifact_bytes: number | null;
  artifact_media_type: string | null;
  /** Null for goods. */
  world: WorldFacts | null;
  edited_act: bigint;
  supersedes: bigint | null;
  superseded_by: bigint | null;
  text_flags: TextFlag[];
  /** The appeal against the last removal, as JSON with times in milliseconds. */
  appeal: AppealFacts | null;
  comments: bigint;
  votes: bigint;
  /** Votes of merchants who paid for this listing; included in `votes`. */
  buyer_votes: bigint;
  sales: bigint;
  verified_sales: bigint;
}

/** Row of a bulk read. Short values share one text, because the driver is slow per value. Missing values are empty or 0 in it. */
export interface PackedRow
  extends Attributes,
    Pick<ListingRow, 'title' | 'description' | 'preview' | 'tags' | 'keywords' | 'artifact_media_type'>,
    Pick<
      ListingRow,
      'appeal' | 'world' | 'removed_at' | 'removed_reason' | 'removed_reason_code' | 'withdrawn_at' | 'withdrawn_reason'
    > {
  facts: string;
}

/** Figures that the filters and sorts of the shelves use, packed like the rows above. */
export interface PackedFigures extends Attributes {
  facts: string;
  tags: string[];
}

const columns = sql`l.id, l.merchant_id, m.handle as merchant, l.title, l.description, l.preview, l.price_units, l.seller_wallet, l.tags,
    l.keywords, l.aisle, l.state, l.pinned, l.created_at, l.removed_at, l.removed_reason, l.removed_reason_code, l.withdrawn_at,
    l.withdrawn_reason, l.artifact_commitment, l.artifact_bytes, l.artifact_media_type, l.edited_act,
    l.supersedes, l.text_flags, ${attributeColumns}`;

const msOf = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::int8`;
// A removed statement stays in its row, so blank it here.
const appealJson = `case when a.id is not null then json_build_object('id', a.id,
      'statement', case when exists (select from text_removals t where t.appeal_id = a.id) then '' else a.statement end,
      'created_ms', ${msOf('a.created_at')}, 'outcome', a.outcome, 'outcome_reason', a.outcome_reason,
      'decided_ms', ${msOf('a.decided_at')}) end`;

/** Receipt of purchase `p` of thing `w` through checkout `c`. Null until the purchase is claimed. */
export const receiptJson = `case when p.claimed_at is not null then json_build_object('offer_id', w.offer_id, 'thing_id', w.thing_id,
      'thing_url', w.thing_url, 'city_handle', c.city_handle, 'tx_hash', '0x' || encode(p.tx_hash, 'hex'),
      'block_number', p.block_number, 'claimed_ms', ${msOf('p.claimed_at')}) end`;
const worldJson = `json_build_object('city_url', w.city_origin, 'draft_id', w.draft_id, 'offer_id', w.offer_id,
      'thing_id', w.thing_id, 'seller_handle', w.seller_handle, 'offer_url', w.offer_url, 'thing_url', w.thing_url,
      'receipt', ${receiptJson})`;

/** The city's facts about listing `l`. Null for goods. */
export const worldOfListing = `(select ${worldJson} from world_listings w
      left join purchases p on p.world_listing_id = w.listing_id
      left join world_checkouts c on c.id = p.checkout_id where w.listing_id = l.id)`;

/** Sums the counter slots of listing `l`. Every transaction that changes a count updates them. */
const figures = sql`select coalesce(sum(c.sales), 0)::int8 as sales,
      coalesce(sum(c.verified_sales), 0)::int8 as verified_sales, coalesce(sum(c.votes), 0)::int8 as votes,
      coalesce(sum(c.buyer_votes), 0)::int8 as buyer_votes, coalesce(sum(c.comments), 0)::int8 as comments
    from listing_counters c where c.listing_id = l.id`;

/** Selects all listings with the columns of a ListingRow. Append `where l.id ...`. */
export const listings = sql`
  select ${columns}, figures.sales, figures.verified_sales, figures.votes, figures.buyer_votes, figures.comments,
    (select newer.id from listings newer where newer.supersedes = l.id) as superseded_by,
    (select ${raw(appealJson)} from removals r left join appeals a on a.removal_id = r.id where r.listing_id = l.id
      order by r.id desc limit 1) as appeal,
    ${raw(worldOfListing)} as world
  from listings l join merchants m on m.id = l.merchant_id
  cross join lateral (${figures}) figures`;

export async function readListing(database: Queryable, id: bigint): Promise<ListingRow | null> {
  return database.maybe<ListingRow>(sql`${listings} where l.id = ${id}`);
}

export async function readListings(database: Queryable, ids: readonly bigint[]): Promise<ListingRow[]> {
  return database.rows<ListingRow>(sql`${listings} where l.id = any(${ids}) order by l.id`);
}

/** Sums the counters of each listing in an id range. Listings without counters have no row. */
const figuresBetween = (above: bigint, upTo: bigint): Sql => sql`
    figures as (
      select listing_id, sum(sales)::int8 as sales, sum(verified_sales)::int8 as verified_sales, sum(votes)::int8 as votes,
        sum(buyer_votes)::int8 as buyer_votes, sum(comments)::int8 as comments
      from listing_counters where listing_id > ${above} and listing_id <= ${upTo} group by listing_id
    )`;

/** Reads the figures (no texts) of listings with ids above `above` up to `upTo`, in the order of ids. */
export async function readFiguresBetween(database: Queryable, above: bigint, upTo: bigint): Promise<PackedFigures[]> {
  return database.rows<PackedFigures>(sql`
    with ${figuresBetween(above, upTo)}
    select concat_ws(' ', l.id, l.merchant_id, l.price_units, l.aisle, l.state, l.edited_act, coalesce(figures.sales, 0),
        coalesce(figures.verified_sales, 0), coalesce(figures.votes, 0), coalesce(figures.comments, 0)) as facts,
      to_json(l.tags) as tags, ${attributeColumns}
    from listings l left join figures on figures.listing_id = l.id
    where l.id > ${above} and l.id <= ${upTo} order by l.id`);
}

/** Reads the full rows of listings with ids above `above` up to `upTo`. */
export async function readListingsBetween(database: Queryable, above: bigint, upTo: bigint): Promise<PackedRow[]> {
  return database.rows<PackedRow>(sql`
    with ${figuresBetween(above, upTo)}, newer as (
      select id, supersedes from listings where supersedes > ${above} and supersedes <= ${upTo}
    ), appealed as (
      select distinct on (r.listing_id) r.listing_id, ${raw(appealJson)} as appeal
      from removals r left join appeals a on a.removal_id = r.id
      where r.listing_id > ${above} and r.listing_id <= ${upTo} order by r.listing_id, r.id desc
    ), things as (
      select w.listing_id, ${raw(worldJson)} as world
      from world_listings w
      left join purchases p on p.world_listing_id = w.listing_id and p.world_listing_id > ${above} and p.world_listing_id <= ${upTo}
      left join world_checkouts c on c.id = p.checkout_id
      where w.listing_id > ${above} and w.listing_id <= ${upTo}
    )
    select concat_ws(' ', l.id, l.merchant_id, m.handle, l.price_units, encode(l.seller_wallet, 'hex'), l.aisle, l.state, l.pinned,
        floor(extract(epoch from l.created_at) * 1000), coalesce(encode(l.artifact_commitment, 'hex'), ''),
        coalesce(l.artifact_bytes, 0), l.edited_act, coalesce(figures.sales, 0), coalesce(figures.verified_sales, 0),
        coalesce(figures.votes, 0), coalesce(figures.comments, 0), coalesce(l.supersedes, 0), coalesce(newer.id, 0), array_to_string(l.text_flags, ','),
        coalesce(figures.buyer_votes, 0)) as facts,
      l.title, l.description, l.preview, to_json(l.tags) as tags, to_json(l.keywords) as keywords, l.artifact_media_type, ${attributeColumns},
      l.removed_at, l.removed_reason, l.removed_reason_code, l.withdrawn_at, l.withdrawn_reason, appealed.appeal,
      things.world
    from listings l join merchants m on m.id = l.merchant_id
    left join figures on figures.listing_id = l.id left join newer on newer.supersedes = l.id
    left join appealed on appealed.listing_id = l.id left join things on things.listing_id = l.id
    where l.id > ${above} and l.id <= ${upTo} order by l.id`);
}

/** Reads the merchant's listings in every state, newest first. */
export async function readListingsOf(
  database: Queryable,
  page: { merchantId: bigint; limit: number; beforeId: bigint | null },
): Promise<ListingRow[]> {
  const beforeCursor = page.beforeId === null ? empty : sql`and l.id < ${page.beforeId}`;
  return database.rows<ListingRow>(sql`
    ${listings} where l.merchant_id = ${page.merchantId} ${beforeCursor} order by l.id desc limit ${page.limit}`);
}
