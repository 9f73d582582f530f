import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';

export interface MerchantRow {
  id: bigint;
  handle: string;
  joined_at: Date;
  store_line: string;
}

/** When a listing was pinned, in acts; `ended` is null while it is. */
export interface PinPeriod {
  listing_id: bigint;
  began: bigint;
  ended: bigint | null;
}

/** A snapshot of PostgreSQL as text: which transactions it sees. */
export interface Moment {
  snapshot: string;
  lastAct: bigint;
}

export async function readMoment(tx: Queryable): Promise<Moment & { newestId: bigint }> {
  const found = await tx.one<{ snapshot: string; last_act: bigint; newest_id: bigint }>(sql`
    select pg_current_snapshot()::text as snapshot, last_act, (select coalesce(max(id), 0) from listings) as newest_id
    from catalog_state`);
  return { snapshot: found.snapshot, lastAct: found.last_act, newestId: found.newest_id };
}

export interface Changes extends Moment {
  /** Changes since the earlier snapshot were deleted already: only a full reading helps. */
  lost: boolean;
  listingIds: bigint[];
  merchantIds: bigint[];
}

/**
 * What this transaction sees and the earlier snapshot did not. A new listing also changes those that its wallet bought from the same
 * seller: no verified sales any more. That is asked here, as neither of two transactions side by side sees the other.
 */
export async function readChanges(tx: Queryable, since: string, newestId: number): Promise<Changes> {
  const found = await tx.one<{
    snapshot: string;
    last_act: bigint;
    lost: boolean;
    listing_ids: bigint[];
    merchant_ids: bigint[];
  }>(sql`
    with changed as materialized (
      select distinct listing_id, merchant_id from catalog_changes
      where xid >= pg_snapshot_xmin(${since}::pg_snapshot) and not pg_visible_in_snapshot(xid, ${since}::pg_snapshot)
    ), touched as (
      select listing_id from changed where listing_id is not null
      union
      select p.listing_id from changed c
        join listings made on made.id = c.listing_id
        join purchases p on p.payer = made.seller_wallet
        join listings sold on sold.id = p.listing_id and sold.merchant_id = made.merchant_id
      where c.listing_id > ${newestId}
    )
    select pg_current_snapshot()::text as snapshot, s.last_act, s.kept_from > pg_snapshot_xmin(${since}::pg_snapshot) as lost,
      coalesce((select array_agg(listing_id order by listing_id) from touched), '{}') as listing_ids,
      coalesce((select array_agg(merchant_id order by merchant_id) from changed where merchant_id is not null), '{}') as merchant_ids
    from catalog_state s`);
  return {
    snapshot: found.snapshot,
    lastAct: found.last_act,
    lost: found.lost,
    listingIds: found.listing_ids,
    merchantIds: found.merchant_ids,
  };
}

export async function readMerchants(tx: Queryable, ids: readonly bigint[]): Promise<MerchantRow[]> {
  return tx.rows<MerchantRow>(
    sql`select id, handle, joined_at, store_line from merchants where id = any(${ids}) order by id`,
  );
}

export async function readMerchantsFrom(tx: Queryable, after: bigint, limit: number): Promise<MerchantRow[]> {
  return tx.rows<MerchantRow>(
    sql`select id, handle, joined_at, store_line from merchants where id > ${after} order by id limit ${limit}`,
  );
}

/** Those that began or ended after that act. */
export async function readPinPeriods(tx: Queryable, afterAct: bigint): Promise<PinPeriod[]> {
  return tx.rows<PinPeriod>(sql`
    select listing_id, began, ended from pin_periods where began > ${afterAct} or ended > ${afterAct} order by began`);
}
