import sql, { empty, raw } from 'sql-template-tag';
import type { TextFlag } from '../../../contract/text-flags.ts';
import type { Queryable } from '../../../platform/database/database.ts';

/** What everybody may see of a comment: where it was removed, its words are not read at all. */
export interface CommentRow {
  id: bigint;
  listing_id: bigint;
  handle: string;
  parent_id: bigint | null;
  body: string;
  verified_buyer: boolean;
  created_at: Date;
  removed: boolean;
  removed_reason_code: string | null;
  text_flags: TextFlag[];
}

// Only what is paid for and final is in purchases, so a row with a price is all the proof there is to look for.
const columns = `c.id, c.listing_id, m.handle, c.parent_id, c.created_at, c.removed_reason_code, c.removed_at is not null as removed,
    case when c.removed_at is null then c.body else '' end as body,
    case when c.removed_at is null then c.text_flags else '{}' end as text_flags,
    exists (
      select from purchases p where p.listing_id = c.listing_id and p.merchant_id = c.merchant_id and p.price_units > 0
        and not p.payer_collects_only
    ) as verified_buyer`;

/** All comments, to be narrowed down by `where c.id ...`: the columns of a CommentRow. */
export const comments = raw(`select ${columns} from comments c join merchants m on m.id = c.merchant_id`);

export async function readComment(queryable: Queryable, id: bigint): Promise<CommentRow | null> {
  return await queryable.maybe<CommentRow>(sql`${comments} where c.id = ${id}`);
}

export interface CommentPage {
  /** Of the listing, whatever the cursor. */
  total: bigint;
  /** Whether the cursor names a comment of the listing; true without one. */
  cursorKnown: boolean;
  rows: CommentRow[];
}

/** Oldest first. One statement, so that the total, the cursor and the rows are of one moment. */
export async function readCommentPage(
  queryable: Queryable,
  page: { listingId: bigint; afterId: bigint | null; limit: number },
): Promise<CommentPage> {
  const { listingId, afterId, limit } = page;
  const newer = afterId === null ? empty : sql`and c.id > ${afterId}`;
  const known =
    afterId === null
      ? sql`true`
      : sql`exists (select from comments where id = ${afterId} and listing_id = ${listingId})`;
  const found = await queryable.rows<{ total: bigint; cursor_known: boolean } & (CommentRow | { id: null })>(sql`
    select whole.total, whole.cursor_known, page.* from (
      select (select coalesce(sum(comments), 0)::int8 from listing_counters where listing_id = ${listingId}) as total, ${known} as cursor_known
    ) whole left join (
      ${comments} where c.listing_id = ${listingId} ${newer} order by c.id limit ${limit}
    ) page on true order by page.id`);
  const [first] = found;
  return {
    total: first?.total ?? 0n,
    cursorKnown: first?.cursor_known ?? true,
    rows: found.filter((row) => row.id !== null),
  };
}
