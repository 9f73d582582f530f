import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { type Fingerprint, MAX_DIFFERENT_BITS, RULE } from './fingerprint.ts';

/**
 * Finds the oldest listing with nearly the same goods that is live or was withdrawn after `withdrawnSince`. Removed listings do not count.
 * Selects candidates first and then each one's listing by id, because planners cannot estimate the number of candidates and might read all
 * listings instead.
 */
export async function findAlike(
  queryable: Queryable,
  { bands, signature }: Fingerprint,
  { exempt, withdrawnSince }: { exempt: readonly bigint[]; withdrawnSince: Date },
): Promise<bigint | null> {
  const row = await queryable.maybe<{ id: bigint }>(
    sql`with alike as materialized (
        select listing_id from artifact_shapes
        where bands && ${bands}::int4[] and bit_count(signature # ${signature}::bit(512)) <= ${MAX_DIFFERENT_BITS}
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

/** The statement is sent with the transaction's next one or its commit. */
export function insertFingerprint(tx: Tx, listingId: bigint, { bands, signature }: Fingerprint): void {
  tx.later(
    sql`insert into artifact_shapes (listing_id, bands, signature, rule)
      values (${listingId}, ${bands}::int4[], ${signature}::bit(512), ${RULE})`,
  );
}

/**
 * Returns outdated fingerprints with their goods, locked until the transaction ends. Skips rows that an edit has locked, because the edit
 * makes a new fingerprint itself, and uploaded goods, which older versions did not list.
 */
export async function takeOldFingerprints(tx: Tx, most: number): Promise<{ listingId: bigint; content: Buffer }[]> {
  return tx.rows(
    sql`select s.listing_id as "listingId", a.content from artifact_shapes s join artifacts a using (listing_id)
      where s.rule = 1 and a.content is not null order by s.listing_id limit ${most} for update of s skip locked`,
  );
}

/** Replaces the fingerprint when the goods are replaced. Goods without a fingerprint have no row. */
export function replaceFingerprint(tx: Tx, listingId: bigint, fingerprint: Fingerprint | null): void {
  tx.later(sql`delete from artifact_shapes where listing_id = ${listingId}`);
  if (fingerprint !== null) insertFingerprint(tx, listingId, fingerprint);
}
