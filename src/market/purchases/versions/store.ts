import sql, { empty, type Sql } from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import { type Hex, toBytes } from '../../../platform/hex.ts';

/** Who bought, as far as a request shows it. */
export interface Buyer {
  merchantId: bigint | null;
  payer: Hex | null;
}

/**
 * Whether that buyer bought an older version before the newer one was made, all the way down from `newest` while each version
 * entitles. What counts is when a payment was opened, since it may end much later; and a claim comes after its transfer, whose time
 * is in whole seconds. Where only the payer may collect, the key that opened the payment has nothing to show for it.
 */
function isEntitledTo(newest: Sql, { merchantId, payer }: Buyer): Sql {
  const ofMerchant = sql`(p.merchant_id = ${merchantId} and not p.payer_collects_only)`;
  const orOfPayer = payer === null ? empty : sql`or p.payer = ${toBytes(payer)}`;
  return sql`select exists (
    with recursive line (older, newer_at) as (
      select l.supersedes, l.created_at from listings l where l.id = ${newest} and l.entitles_previous_buyers
      union all
      select l.supersedes, l.created_at from line join listings l on l.id = line.older where l.entitles_previous_buyers
    )
    select from line join purchases p on p.listing_id = line.older left join payments y on y.id = p.payment_id
    where (${ofMerchant} ${orOfPayer}) and (coalesce(y.created_at, p.created_at) < line.newer_at
      or (y.path = 'direct' and y.block_time < date_trunc('second', line.newer_at)))
  )`;
}

export async function isEarlierBuyer(queryable: Queryable, listingId: bigint, buyer: Buyer): Promise<boolean> {
  const { exists } = await queryable.one<{ exists: boolean }>(isEntitledTo(sql`${listingId}`, buyer));
  return exists;
}

export interface NewerRow {
  bought_id: bigint;
  id: bigint;
  title: string;
  removed_at: Date | null;
  price_units: bigint;
  created_at: Date;
  title_differs: boolean;
  description_differs: boolean;
  preview_differs: boolean;
  tags_differ: boolean;
  aisle_differs: boolean;
  price_differs: boolean;
  wallet_differs: boolean;
  artifact_differs: boolean;
  entitled: boolean;
}

/**
 * Of each of these listings the newest live one further up its line, where there is one. Two commitments tell nothing about their
 * goods, since each has a salt of its own: the goods themselves are compared, with what is said about them.
 */
export async function readNewerVersions(
  queryable: Queryable,
  merchantId: bigint,
  boughtIds: readonly bigint[],
): Promise<NewerRow[]> {
  return await queryable.rows<NewerRow>(sql`
    select old.id as bought_id, new.id, new.title, new.removed_at, new.price_units, new.created_at,
      new.title <> old.title as title_differs, new.description <> old.description as description_differs,
      new.preview <> old.preview as preview_differs, new.tags <> old.tags as tags_differ, new.aisle <> old.aisle as aisle_differs,
      new.price_units <> old.price_units as price_differs, new.seller_wallet <> old.seller_wallet as wallet_differs,
      (new_goods.content, new.artifact_encoding, new.artifact_media_type, new.artifact_filename) is distinct from
        (old_goods.content, old.artifact_encoding, old.artifact_media_type, old.artifact_filename) as artifact_differs,
      (${isEntitledTo(sql`new.id`, { merchantId, payer: null })}) as entitled
    from listings old
      cross join lateral (
        with recursive line (id, state) as (
          select l.id, l.state from listings l where l.supersedes = old.id
          union all
          select l.id, l.state from line join listings l on l.supersedes = line.id
        )
        select max(id) as id from line where state = 'live'
      ) newest
      join listings new on new.id = newest.id
      join artifacts old_goods on old_goods.listing_id = old.id
      join artifacts new_goods on new_goods.listing_id = new.id
    where old.id = any(${boughtIds}::bigint[])`);
}
