import sql, { type Sql } from 'sql-template-tag';
import type { TextFlag } from '../../contract/text-flags.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export interface CommentToMake {
  listingId: bigint;
  merchantId: bigint;
  parentId: bigint | null;
  body: string;
}

/** The comment of the same words in the same place that the same merchant has made since then, if it still stands. */
export function sameComment({ listingId, merchantId, parentId, body }: CommentToMake, since: Date): Sql {
  return sql`
    select id from comments
    where merchant_id = ${merchantId} and listing_id = ${listingId} and parent_id is not distinct from ${parentId}::int8
      and body = ${body} and removed_at is null and created_at > ${since} order by id desc limit 1`;
}

/** To be called under the lock of the comments: only then is the id the next, and is there no other of the same words. */
export async function insertUnlessSame(
  tx: Tx,
  comment: CommentToMake & { textFlags: readonly TextFlag[]; now: Date; since: Date },
): Promise<{ id: bigint; made: boolean }> {
  const { listingId, merchantId, parentId, body, textFlags, now, since } = comment;
  return await tx.one<{ id: bigint; made: boolean }>(sql`
    with same as materialized (${sameComment(comment, since)}), made as (
      insert into comments (id, listing_id, merchant_id, parent_id, body, text_flags, created_at)
      select (select next_id('comments', max(id)) from comments), ${listingId}::int8, ${merchantId}::int8, ${parentId}::int8,
        ${body}, ${textFlags}::text[], ${now}::timestamptz
      where not exists (select from same) returning id
    )
    select coalesce((select id from made), (select id from same)) as id, exists (select from made) as made`);
}

/** Comments stay, and stay where they are. */
export async function isCommentOn(queryable: Queryable, id: bigint, listingId: bigint): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from comments where id = ${id} and listing_id = ${listingId}) as found`,
  );
  return found;
}

export interface StandingComment {
  listingId: bigint;
  merchantId: bigint;
  removed: boolean;
}

/** Until the end of the transaction no other one removes it; replies to it go on. */
export async function lockComment(tx: Tx, id: bigint): Promise<StandingComment | null> {
  const row = await tx.maybe<{ listing_id: bigint; merchant_id: bigint; removed: boolean }>(sql`
    select listing_id, merchant_id, removed_at is not null as removed from comments where id = ${id} for no key update`);
  return row && { listingId: row.listing_id, merchantId: row.merchant_id, removed: row.removed };
}

/** What it said stays in the row; no response shows it. */
export function markCommentRemoved(
  tx: Tx,
  id: bigint,
  removal: { reasonCode: string; reason: string; now: Date },
): void {
  tx.later(
    sql`update comments set removed_at = ${removal.now}, removed_reason_code = ${removal.reasonCode},
        removed_reason = ${removal.reason}
      where id = ${id}`,
  );
}
