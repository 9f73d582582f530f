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

/** When a listing was pinned, in acts; `ended` is null while it is. */
export interface PinPeriod {
  listing_id: bigint;
  began: bigint;
  ended: bigint | null;
}

/** The moment that a model shows. */
export interface Moment {
  /** A snapshot of PostgreSQL as text: which transactions it sees. */
  snapshot: string;
  /** Whether the server tells its timeline. */
  tellsTimeline: boolean;
  /** The server's timeline, or else its start, and the database's oid, as text. Another server may lack what the model holds. */
  server: string;
  /** When the server was started and crashed, as text. After a crash, ids of transactions that left no trace on its disk are given once more. */
  startedAt: string;
  lastRevision: bigint;
}

/** Without what else came with it. */
export function momentOf({ snapshot, tellsTimeline, server, startedAt, lastRevision }: Moment): Moment {
  return { snapshot, tellsTimeline, server, startedAt, lastRevision };
}

/**
 * The end of one session by force makes the server recover and go on under the same start. Its counters are in memory: it sets them back
 * after each crash, before it takes connections. An administrator may set them back too, which costs one look at all that is kept.
 */
const startedAt = sql`concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time())`;
const serverOf = (tellsTimeline: boolean): Sql => sql`
    (select ${tellsTimeline ? timelineText : sql`pg_postmaster_start_time()::text`} || ' ' || oid from pg_database where datname = current_database())`;
const moment = (tellsTimeline: boolean): Sql => sql`
    pg_current_snapshot()::text as snapshot, ${tellsTimeline}::bool as "tellsTimeline", ${serverOf(tellsTimeline)} as server, ${startedAt} as "startedAt"`;

/** Whether moments go by the timeline. Asked before a model is loaded, and outside its transaction. */
export async function tellsTimeline(database: Database): Promise<boolean> {
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
 * What this snapshot sees and the earlier one did not: rows of transactions that began after the earlier one, and of those that ran then
 * and are committed now. Others are not looked at, however old a transaction is that still runs somewhere on the server. Once the server
 * was started again or has crashed, all that is kept counts as new: a transaction may have an id that the earlier snapshot took for done.
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
 * Whether rows may be missing, or the model may hold what the database does not: they were deleted, the database was put back to before the
 * earlier snapshot, or a standby has taken the place of the server, which may have lost the last of its transactions. A server that does not
 * tell its timeline may be another one after each start. A mark from ahead of all transactions came with a dump from another server, and says
 * nothing of this one.
 */
const isLost = (since: Moment): Sql => sql`(
    ${serverOf(since.tellsTimeline)} <> ${since.server}
    or pg_snapshot_xmax(pg_current_snapshot()) < pg_snapshot_xmax(${since.snapshot}::pg_snapshot)
    or s.kept_from > pg_snapshot_xmin(${since.snapshot}::pg_snapshot) and s.kept_from <= pg_snapshot_xmax(pg_current_snapshot()))`;

export interface Changes extends Moment {
  /** Edited ones in the order of their acts. */
  listingIds: bigint[];
  merchantIds: bigint[];
}

/** Null: some of them are not known any more. */
export async function readChanges(tx: Queryable, since: Moment): Promise<Changes | null> {
  return tx.maybe<Changes>(sql`
    with ${changesSince(since)}
    select ${moment(since.tellsTimeline)}, s.last_act as "lastRevision",
      array(select l.id from changed join listings l on l.id = changed.listing_id order by l.edited_act, l.id) as "listingIds",
      array(select merchant_id from changed where merchant_id is not null order by merchant_id) as "merchantIds"
    from catalog_state s where not ${isLost(since)}`);
}

export interface Peek extends Moment {
  /** All that is new of the listings and those that were wanted, and there is nothing else; null: there may be more than that. */
  listings: ListingRow[] | null;
}

/** What is new as a rule, in one statement, whose snapshot is one too: not many listings, and neither merchants nor pins. */
export async function peekAtChanges(
  queryable: Queryable,
  since: Moment,
  known: { revision: bigint; most: number; requestedIds: readonly bigint[] },
): Promise<Peek> {
  const { revision, most, requestedIds } = known;
  const rows = await queryable.rows<Moment & { simple: boolean } & (ListingRow | { id: null })>(sql`
    with ${changesSince(since)}, head as materialized (
      select ${moment(since.tellsTimeline)}, s.last_act as "lastRevision",
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

/** Those that began or ended after that act. */
export async function readPinPeriods(tx: Queryable, afterRevision: bigint): Promise<PinPeriod[]> {
  return tx.rows<PinPeriod>(sql`
    select listing_id, began, ended from pin_periods where began > ${afterRevision} or ended > ${afterRevision} order by began`);
}

/**
 * Deletes some of the changes older than that, and notes up to where none can be relied on any more. Only of transactions that every
 * running one came after: so the note never passes what is still to be written, and a reader that is up to date is never sent back.
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
    // A mark from ahead of all transactions came with a dump from another server, and would hide this one.
    await tx.run(sql`
      update catalog_state set kept_from = case when kept_from > pg_snapshot_xmax(pg_current_snapshot()) then ${keptFrom}::xid8
        else greatest(kept_from, ${keptFrom}::xid8) end`);
  }
  return count;
}

/** A process that was cut off for longer reads the whole catalog again. */
export const KEPT_MS = 60 * 60_000;
const EVERY_MS = 60_000;
/** Short transactions: each ends with a lock that edits of listings wait for. */
const BATCH = 5_000;

/** Deletes every change that is older than that; returns how many. */
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

/** Keeps the list of changes short: a job of one process at a time. */
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
