import sql, { type Sql } from 'sql-template-tag';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';
import type { CountedAct } from '../../platform/database/quotas/count-in-window.ts';

const votesOf = (listingId: bigint): Sql =>
  sql`(select coalesce(sum(votes), 0)::int8 from listing_counters where listing_id = ${listingId})`;

/** How many votes the listing has, for a merchant who has given one of them; no value for others. */
export function votesWithOwn(listingId: bigint, merchantId: bigint): Sql {
  return sql`
    select ${votesOf(listingId)} from votes where listing_id = ${listingId} and merchant_id = ${merchantId}`;
}

/** What became of a vote; `state` is null where there is no such listing. */
export interface VoteOutcome {
  state: ListingState | null;
  seller_id: bigint | null;
  /** How many votes there are with this one. Null: none was to be made, or another call of the same merchant has just made it. */
  votes: bigint | null;
}

/**
 * Votes for a live listing of another merchant, once per merchant and listing. The row is locked first, and judged as it is once the lock
 * is held: the vote waits for a concurrent withdrawal.
 */
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
