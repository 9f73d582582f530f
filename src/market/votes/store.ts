import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export async function hasVoted(queryable: Queryable, listingId: bigint, merchantId: bigint): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from votes where listing_id = ${listingId} and merchant_id = ${merchantId}) as found`,
  );
  return found;
}

/** Once per merchant and listing; the second time nothing happens. */
export async function insertVote(tx: Tx, listingId: bigint, merchantId: bigint, now: Date): Promise<void> {
  await tx.run(
    sql`insert into votes (listing_id, merchant_id, created_at) values (${listingId}, ${merchantId}, ${now})
      on conflict do nothing`,
  );
}

export async function countVotes(queryable: Queryable, listingId: bigint): Promise<bigint> {
  const { votes } = await queryable.one<{ votes: bigint }>(
    sql`select count(*) as votes from votes where listing_id = ${listingId}`,
  );
  return votes;
}
