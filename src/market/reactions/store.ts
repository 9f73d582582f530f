import sql, { raw, type Sql } from 'sql-template-tag';
import type { FlagTarget } from '../../contract/feedback.ts';
import type { TextFlag } from '../../contract/text.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { CountedAct } from '../../platform/database/quota.ts';

const votesOf = (listingId: bigint): Sql =>
  sql`(select coalesce(sum(votes), 0)::int8 from listing_counters where listing_id = ${listingId})`;

/** Counts the listing's votes if the merchant has voted; selects no row otherwise. */
export function votesWithOwn(listingId: bigint, merchantId: bigint): Sql {
  return sql`
    select ${votesOf(listingId)} from votes where listing_id = ${listingId} and merchant_id = ${merchantId}`;
}

/** `state` is null if there is no such listing. */
export interface VoteOutcome {
  state: ListingState | null;
  seller_id: bigint | null;
  /** Number of votes including this one. Null if the vote was not allowed, or if the merchant's concurrent call has just made it. */
  votes: bigint | null;
}

/** Votes for another merchant's live listing, once per merchant. Locks the row before checking it, so it waits for a withdrawal. */
export function voteAct(listingId: bigint, merchantId: bigint, now: Date): CountedAct {
  return {
    steps: sql`shared as materialized (
      select id, merchant_id, state from listings where id = ${listingId} and exists (select from allowed) for share
    ), made as (
      insert into votes (listing_id, merchant_id, created_at)
      select id, ${merchantId}::int8, ${now}::timestamptz from shared where state = 'live' and merchant_id <> ${merchantId}
      on conflict do nothing returning listing_id
    )`,
    columns: sql`(select state from shared) as state, (select merchant_id from shared) as seller_id,
      (select ${votesOf(listingId)} + 1 from made) as votes`,
  };
}

export async function countVotes(queryable: Queryable, listingId: bigint): Promise<bigint> {
  const { votes } = await queryable.one<{ votes: bigint }>(sql`select ${votesOf(listingId)} as votes`);
  return votes;
}

export interface CommentToMake {
  listingId: bigint;
  merchantId: bigint;
  parentId: bigint | null;
  body: string;
}

/** Finds the merchant's identical comment since `since`, unless it was removed. */
export function sameCommentQuery({ listingId, merchantId, parentId, body }: CommentToMake, since: Date): Sql {
  return sql`
    select id from comments
    where merchant_id = ${merchantId} and listing_id = ${listingId} and parent_id is not distinct from ${parentId}::int8
      and body = ${body} and removed_at is null and created_at > ${since} order by id desc limit 1`;
}

/**
 * Inserts the comment unless an identical one exists. Call it under the comments lock. Only then does it see every identical comment, and
 * its id follows all ids committed before.
 */
export async function insertUnlessSame(
  tx: Tx,
  comment: CommentToMake & { textFlags: readonly TextFlag[]; now: Date; since: Date },
): Promise<{ id: bigint; made: boolean }> {
  const { listingId, merchantId, parentId, body, textFlags, now, since } = comment;
  return await tx.one<{ id: bigint; made: boolean }>(sql`
    with same as materialized (${sameCommentQuery(comment, since)}), made as (
      insert into comments (id, listing_id, merchant_id, parent_id, body, text_flags, created_at)
      select (select next_id('comments', max(id)) from comments), ${listingId}::int8, ${merchantId}::int8, ${parentId}::int8,
        ${body}, ${textFlags}::text[], ${now}::timestamptz
      where not exists (select from same) returning id
    )
    select coalesce((select id from made), (select id from same)) as id, exists (select from made) as made`);
}

/** Returns whether the comment is on the listing. This never changes, because comments are never deleted or moved. */
export async function isCommentOn(queryable: Queryable, id: bigint, listingId: bigint): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from comments where id = ${id} and listing_id = ${listingId}) as found`,
  );
  return found;
}

export interface CommentState {
  listingId: bigint;
  merchantId: bigint;
  removed: boolean;
}

/** Locks the comment against other removals until the transaction ends, but not against replies. */
export async function lockComment(tx: Tx, id: bigint): Promise<CommentState | null> {
  return await tx.maybe<CommentState>(sql`
    select listing_id as "listingId", merchant_id as "merchantId", removed_at is not null as removed
    from comments where id = ${id} for no key update`);
}

/** Keeps the text in the row. No response shows it. */
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

export interface FlaggedTarget {
  type: FlagTarget;
  id: bigint;
}

export interface FlagRow {
  id: bigint;
  target_type: FlagTarget;
  target_id: bigint;
  handle: string;
  reason: string;
  created_at: Date;
}

const TARGET_COLUMNS: Readonly<Record<FlagTarget, Sql>> = {
  listing: raw('listing_id'),
  comment: raw('comment_id'),
  merchant: raw('flagged_merchant_id'),
};

const selectFlags = raw(`
  select f.id, case when f.listing_id is not null then 'listing' when f.comment_id is not null then 'comment' else 'merchant' end
      as target_type,
    coalesce(f.listing_id, f.comment_id, f.flagged_merchant_id) as target_id, m.handle, f.reason, f.created_at
  from flags f join merchants m on m.id = f.merchant_id`);

export function ownFlagQuery({ type, id }: FlaggedTarget, merchantId: bigint): Sql {
  return sql`select id from flags where ${TARGET_COLUMNS[type]} = ${id} and merchant_id = ${merchantId}`;
}

/** Returns null if the flag exists. Waits for a concurrent transaction that makes the same flag. */
export async function insertFlag(
  tx: Tx,
  target: FlaggedTarget,
  flag: { merchantId: bigint; reason: string; now: Date },
): Promise<bigint | null> {
  const row = await tx.maybe<{ id: bigint }>(sql`
    insert into flags (merchant_id, ${TARGET_COLUMNS[target.type]}, reason, created_at)
    values (${flag.merchantId}, ${target.id}, ${flag.reason}, ${flag.now})
    on conflict do nothing returning id`);
  return row?.id ?? null;
}

export async function findOwnFlag(queryable: Queryable, target: FlaggedTarget, merchantId: bigint): Promise<bigint> {
  return (await queryable.one<{ id: bigint }>(ownFlagQuery(target, merchantId))).id;
}

/** Returns the target's owner, who never changes. Null if there is no such target. */
export async function findTargetOwner(queryable: Queryable, { type, id }: FlaggedTarget): Promise<bigint | null> {
  const owners: Readonly<Record<FlagTarget, Sql>> = {
    listing: sql`select merchant_id as owner from listings where id = ${id}`,
    comment: sql`select merchant_id as owner from comments where id = ${id}`,
    merchant: sql`select id as owner from merchants where id = ${id}`,
  };
  return (await queryable.maybe<{ owner: bigint }>(owners[type]))?.owner ?? null;
}

export async function readFlag(queryable: Queryable, id: bigint): Promise<FlagRow> {
  return await queryable.one<FlagRow>(sql`${selectFlags} where f.id = ${id}`);
}

export async function readFlags(queryable: Queryable, limit: number): Promise<FlagRow[]> {
  return await queryable.rows<FlagRow>(sql`${selectFlags} order by f.id desc limit ${limit}`);
}
