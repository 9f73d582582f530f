import sql, { type Sql } from 'sql-template-tag';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable } from '../../platform/database/database.ts';

const votesOf = (listingId: bigint): Sql =>
  sql`(select coalesce(sum(votes), 0)::int8 from listing_counters where listing_id = ${listingId})`;

/** How many votes the listing has, for whoever has given one of them; no value for others. */
export function votesWithOwn(listingId: bigint, merchantId: bigint): Sql {
  return sql`
    select ${votesOf(listingId)} from votes where listing_id = ${listingId} and merchant_id = ${merchantId}`;
}

export interface VoteOutcome {
  state: ListingState;
  sellerId: bigint;
  /** Null: there was no vote to be made, or another call of the same merchant has just made it. */
  votes: bigint | null;
}

/**
 * Votes for what is live and of somebody else, once per merchant and listing. Null: there is no such listing. The row is locked first,
 * and judged as it is once the lock is held: whoever is withdrawing it just now is waited for.
 */
export async function insertVote(
  database: Queryable,
  listingId: bigint,
  merchantId: bigint,
  now: Date,
): Promise<VoteOutcome | null> {
  const found = await database.maybe<{ state: ListingState; merchant_id: bigint; made: bigint; before: bigint }>(sql`
    with shared as materialized (
      select id, merchant_id, state from listings where id = ${listingId} for share
    ), made as (
      insert into votes (listing_id, merchant_id, created_at)
      select id, ${merchantId}::int8, ${now}::timestamptz from shared where state = 'live' and merchant_id <> ${merchantId}
      on conflict do nothing returning listing_id
    )
    select shared.state, shared.merchant_id, (select count(*) from made) as made,
      ${votesOf(listingId)} as before
    from shared`);
  if (found === null) return null;
  const votes = found.made > 0n ? found.before + found.made : null;
  return { state: found.state, sellerId: found.merchant_id, votes };
}

export async function countVotes(queryable: Queryable, listingId: bigint): Promise<bigint> {
  const { votes } = await queryable.one<{ votes: bigint }>(sql`select ${votesOf(listingId)} as votes`);
  return votes;
}
