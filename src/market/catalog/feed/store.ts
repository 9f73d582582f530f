import sql, { type Sql } from 'sql-template-tag';
import { createSingletonJob, type SingletonJob } from '../../../platform/background-jobs.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable, Tx } from '../../../platform/database/database.ts';
import { readTimeline, timelineText } from '../../../platform/database/timeline.ts';
import type { Log } from '../../../platform/log.ts';
import { type ListingRow, listings } from '../store.ts';

export interface MerchantRow {
  id: bigint;
  handle: string;
  joined_at: Date;
  store_line: string;
  city_handle: string | null;
}

/** The acts between which a listing was pinned; `ended` is null while it still is. */
export interface PinPeriod {
  listing_id: bigint;
  began: bigint;
  ended: bigint | null;
}

export interface Moment {
  /** A PostgreSQL snapshot as text. It defines which transactions are visible. */
  snapshot: string;
  hasTimeline: boolean;
  /** The server's timeline (or its start time) and the database's oid, as text. Another server may lack what the model holds. */
  server: string;
  /** The server's last start and crash, as text. After a crash, transaction ids that left no trace on disk are used again. */
  startedAt: string;
  lastRevision: bigint;
}

export function momentOf({ snapshot, hasTimeline, server, startedAt, lastRevision }: Moment): Moment {
  return { snapshot, hasTimeline, server, startedAt, lastRevision };
}

/**
 * A crashed server keeps its start time, but resets these statistics before it takes connections again. A manual reset only costs
 * one read of all changes.
 */
const startedAt = sql`concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())`;
const serverOf = (hasTimeline: boolean): Sql => sql`
    (select ${hasTimeline ? timelineText : sql`pg_postmaster_start_time()::text`} || ' ' || oid from pg_database where datname = current_database())`;
const moment = (hasTimeline: boolean): Sql => sql`
    pg_current_snapshot()::text as snapshot, ${hasTimeline}::bool as "hasTimeline", ${serverOf(hasTimeline)} as server, ${startedAt} as "startedAt"`;

/** Returns whether the server reveals its timeline. Call it before a load, outside that transaction, because a refusal would abort it. */
export async function hasTimeline(database: Database): Promise<boolean> {
  return (await readTimeline((query) => database.rows(query))) !== null;
}

export async function readMoment(
  tx: Queryable,
  byTimeline: boolean,
): Promise<Moment & { newestId: bigint; newestMerchantId: bigint }> {
  return tx.one(sql`
    select ${moment(byTimeline)}, last_act as "lastRevision",
      (select coalesce(max(id), 0) from listings) as "newestId",
      (select coalesce(max(id), 0) from merchants) as "newestMerchantId"
    from catalog_state`);
}

/**
 * Selects the changes that this snapshot sees and the earlier one did not. Their transactions began after the earlier snapshot, or were
 * running at that time and have committed since. No other changes are read, so a long transaction elsewhere on the server costs nothing.
 * After a restart or crash, all kept changes count as new, because a transaction may reuse an id that the earlier snapshot saw as
 * committed.
 */
const changesSince = (since: Moment): Sql => sql`
    changed as materialized (
      select listing_id, merchant_id from catalog_changes
      where xid >= case when ${startedAt} = ${since.startedAt} then pg_snapshot_xmax(${since.snapshot}::pg_snapshot) else '0'::xid8 end
        and xid < pg_snapshot_xmax(pg_current_snapshot())
      union
      select listing_id, merchant_id from catalog_changes
      where xid = any (array(
        select ran from pg_snapshot_xip(${since.snapshot}::pg_snapshot) ran where pg_visible_in_snapshot(ran, pg_current_snapshot())))
    )`;

/**
 * True if changes may be missing or the model may hold rows that the database lacks: changes were pruned, the database was restored to
 * before the earlier snapshot, or a standby took over and may have lost the last transactions. If the server does not reveal its timeline,
 * every start counts as a change of the server. A `kept_from` above all transaction ids of this server came with a dump from another server
 * and is ignored.
 */
const isLost = (since: Moment): Sql => sql`(
    ${serverOf(since.hasTimeline)} <> ${since.server}
    or pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(${since.snapshot}::pg_snapshot)
    or s.kept_from > pg_snapshot_xmin(${since.snapshot}::pg_snapshot) and s.kept_from <= pg_snapshot_xmax(pg_current_snapshot()))`;

export interface Changes extends Moment {
  /** Sorted by the act that last edited the listing. */
  listingIds: bigint[];
  merchantIds: bigint[];
}

/** Returns null if the list of changes since the earlier moment is no longer complete. */
export async function readChanges(tx: Queryable, since: Moment): Promise<Changes | null> {
  return tx.maybe<Changes>(sql`
    with ${changesSince(since)}
    select ${moment(since.hasTimeline)}, s.last_act as "lastRevision",
      array(select l.id from changed join listings l on l.id = changed.listing_id order by l.edited_act, l.id) as "listingIds",
      array(select merchant_id from changed where merchant_id is not null order by merchant_id) as "merchantIds"
    from catalog_state s where not ${isLost(since)}`);
}

export interface Peek extends Moment {
  /** All changed and requested listings. Null if too many listings, or a merchant or pin, changed; then call `readChanges`. */
  listings: ListingRow[] | null;
}

/** Reads the usual changes (few listings, no merchants, no pins) in one statement, and so in one snapshot. */
export async function peekAtChanges(
  queryable: Queryable,
  since: Moment,
  request: { revision: bigint; most: number; requestedIds: readonly bigint[] },
): Promise<Peek> {
  const { revision, most, requestedIds } = request;
  const rows = await queryable.rows<Moment & { simple: boolean } & (ListingRow | { id: null })>(sql`
    with ${changesSince(since)}, head as materialized (
      select ${moment(since.hasTimeline)}, s.last_act as "lastRevision",
        not ${isLost(since)}
          and not exists (select from changed where merchant_id is not null)
          and (s.last_act = ${revision} or not exists (select from pin_periods where began > ${revision} or ended > ${revision}))
          and (select count(*) from changed) <= ${most} as simple
      from catalog_state s
    )
    select head.*, fresh.* from head left join (
      ${listings}
      where l.id = any (case when (select simple from head) then array(select listing_id from changed where listing_id is not null) || ${requestedIds}::int8[] else '{}' end)
    ) fresh on true order by fresh.id`);
  const [head] = rows;
  if (head === undefined) throw new TypeError('the state of the catalog is gone');
  return { ...momentOf(head), listings: head.simple ? rows.filter((row) => row.id !== null) : null };
}

const merchants = sql`select id, handle, joined_at, store_line, city_handle from merchants`;

export async function readMerchants(tx: Queryable, ids: readonly bigint[]): Promise<MerchantRow[]> {
  return tx.rows<MerchantRow>(sql`${merchants} where id = any(${ids}) order by id`);
}

export async function readMerchantsBetween(tx: Queryable, above: bigint, upTo: bigint): Promise<MerchantRow[]> {
  return tx.rows<MerchantRow>(sql`${merchants} where id > ${above} and id <= ${upTo} order by id`);
}

export async function readPinPeriods(tx: Queryable, afterRevision: bigint): Promise<PinPeriod[]> {
  return tx.rows<PinPeriod>(sql`
    select listing_id, began, ended from pin_periods where began > ${afterRevision} or ended > ${afterRevision} order by began`);
}

/**
 * Deletes old changes and raises `kept_from` above them. Only changes of transactions older than all running ones are deleted, so
 * `kept_from` never passes a change still to be written, and a process that is up to date never has to reload.
 */
async function deleteOldChanges(tx: Tx, olderThanMs: number, most: number): Promise<number> {
  const { count, highest } = await tx.one<{ count: number; highest: string | null }>(sql`
    with old as (
      select ctid from catalog_changes
      where noted_at < clock_timestamp() - ${olderThanMs}::float8 * interval '1 millisecond'
        and xid < pg_snapshot_xmin(pg_current_snapshot())
      order by noted_at limit ${most}
    ), gone as (
      delete from catalog_changes where ctid in (select ctid from old) returning xid
    )
    select count(*)::int4 as count, max(xid)::text as highest from gone`);
  if (highest !== null) {
    const keptFrom = (BigInt(highest) + 1n).toString();
    // A `kept_from` above all transaction ids came with a dump from another server. Replace it, because `greatest` would keep it.
    await tx.run(sql`
      update catalog_state set kept_from = case when kept_from > pg_snapshot_xmax(pg_current_snapshot()) then ${keptFrom}::xid8
        else greatest(kept_from, ${keptFrom}::xid8) end`);
  }
  return count;
}

/** How long changes are kept. A process that is cut off for longer reloads the whole catalog. */
export const KEPT_MS = 60 * 60_000;
const EVERY_MS = 60_000;
/** Keeps transactions short, because each ends with a lock that edits of listings wait for. */
const BATCH = 5_000;

export async function pruneChanges(
  database: Database,
  olderThanMs: number,
  options: { batch?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const batch = options.batch ?? BATCH;
  let count = 0;
  for (;;) {
    const deleted = await database.transaction((tx) => deleteOldChanges(tx, olderThanMs, batch));
    count += deleted;
    if (deleted < batch || options.signal?.aborted) return count;
  }
}

export function createPruning({ database, clock, log }: { database: Database; clock: Clock; log: Log }): SingletonJob {
  return createSingletonJob({
    database,
    clock,
    log,
    name: 'prune_changes',
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          await pruneChanges(database, KEPT_MS, { signal });
        } catch (error) {
          log.error('catalog_change_prune_failed', { error });
        }
        await clock.sleep(EVERY_MS, signal);
      }
    },
  });
}
