import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { MOST_DIFFERENT_BITS, RULE, type Shape } from './shape.ts';

/**
 * The oldest listing whose goods are nearly these: one that is live, or was withdrawn after that. What was removed counts for
 * nothing. Candidates come first and by themselves, and each one's listing by its id: how many there will be no planner knows, and
 * one that expects many would read all listings instead.
 */
export async function findAlike(
  queryable: Queryable,
  { bands, signature }: Shape,
  { exempt, withdrawnSince }: { exempt: readonly bigint[]; withdrawnSince: Date },
): Promise<bigint | null> {
  const row = await queryable.maybe<{ id: bigint }>(
    sql`with alike as materialized (
        select listing_id from artifact_shapes
        where bands && ${bands}::int4[] and bit_count(signature # ${signature}::bit(512)) <= ${MOST_DIFFERENT_BITS}
      )
      select found.id from alike cross join lateral (
        select l.id from listings l
        where l.id = alike.listing_id and l.id <> all (${exempt}::bigint[])
          and (l.state = 'live' or (l.state = 'withdrawn' and l.withdrawn_at > ${withdrawnSince}))
        limit 1
      ) found
      order by found.id limit 1`,
  );
  return row?.id ?? null;
}

/** With the next statement of the transaction, or its commit. */
export function insertShape(tx: Tx, listingId: bigint, { bands, signature }: Shape): void {
  tx.later(
    sql`insert into artifact_shapes (listing_id, bands, signature, rule)
      values (${listingId}, ${bands}::int4[], ${signature}::bit(512), ${RULE})`,
  );
}

/** Shapes that were made by an earlier rule, with the goods that they are of, held until the end of the transaction. An edit makes its own. */
export async function takeOldShapes(tx: Tx, most: number): Promise<{ listingId: bigint; content: Buffer }[]> {
  return tx.rows(
    sql`select s.listing_id as "listingId", a.content from artifact_shapes s join artifacts a using (listing_id)
      where s.rule = 1 order by s.listing_id limit ${most} for update of s skip locked`,
  );
}

/** For goods that are exchanged; those without a shape have no row. */
export function replaceShape(tx: Tx, listingId: bigint, shape: Shape | null): void {
  tx.later(sql`delete from artifact_shapes where listing_id = ${listingId}`);
  if (shape !== null) insertShape(tx, listingId, shape);
}
