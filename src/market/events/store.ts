import sql, { empty, raw, type Sql } from 'sql-template-tag';
import type { EventKind, Scope } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export interface QueuedEvent {
  kind: EventKind;
  at: Date;
  canonical: Buffer;
  inDoor: boolean;
  inWindow: boolean;
  listingId: bigint | null;
}

/** A part of the log: one kind, one scope, the events of one listing, or everything (null). */
export type EventFilter = StreamedFilter | { listingId: bigint };
/** Parts of the log whose rows store a running count. */
export type StreamedFilter = { kind: EventKind } | { scope: Scope } | null;

export interface EventSlice {
  /** Total of the whole filter, independent of the cursor. */
  total: bigint;
  /** Whether the cursor is the id of a row that the filter selects. True without a cursor. */
  cursorKnown: boolean;
  rows: { id: bigint; nth: bigint; canonical: Buffer }[];
}

/** Queues the insert, which is sent with the next statement of the transaction or with its commit. */
export function insertEvent(tx: Tx, event: QueuedEvent): void {
  tx.later(sql`insert into events (kind, at, canonical, in_door, in_window, listing_id)
    values (${event.kind}, ${event.at}, ${event.canonical}, ${event.inDoor}, ${event.inWindow}, ${event.listingId})`);
}

export async function hasUnnumbered(database: Queryable): Promise<boolean> {
  const { waiting } = await database.one<{ waiting: boolean }>(
    sql`select exists (select from events where id is null) as waiting`,
  );
  return waiting;
}

/** Returns how long the head of the queue has waited, by the database's clock, or null if the queue is empty. */
export async function oldestUnnumberedMs(database: Queryable): Promise<number | null> {
  const row = await database.maybe<{ waited_ms: number }>(sql`
    select (extract(epoch from clock_timestamp() - queued_at) * 1000)::float8 as waited_ms
    from events where id is null order by queue_id limit 1`);
  return row?.waited_ms ?? null;
}

/** Numbers the first rows of the queue and returns how many. Hold the lock `events`, so that only one process numbers. */
export async function numberBatch(tx: Queryable, most: number): Promise<number> {
  return tx.run(sql`
    with batch as (
      select queue_id, kind, in_door, in_window from events where id is null order by queue_id limit ${most}
    ), newest as (
      select id, nth_of_door, nth_of_window from events where id is not null order by id desc limit 1
    ), kinds as (
      select present.kind, coalesce((
        select earlier.nth_of_kind from events earlier
        where earlier.kind = present.kind and earlier.id is not null order by earlier.id desc limit 1
      ), 0) as nth
      from (select distinct kind from batch) present
    ), numbered as (
      select batch.queue_id,
        (select next_id('events', max(id)) - 1 from newest) + row_number() over upto as id,
        kinds.nth + row_number() over (partition by batch.kind order by batch.queue_id) as nth_of_kind,
        coalesce((select nth_of_door from newest), 0) + count(*) filter (where batch.in_door) over upto as nth_of_door,
        coalesce((select nth_of_window from newest), 0) + count(*) filter (where batch.in_window) over upto as nth_of_window
      from batch join kinds using (kind)
      window upto as (order by batch.queue_id)
    )
    update events set id = numbered.id, nth_of_kind = numbered.nth_of_kind,
      nth_of_door = numbered.nth_of_door, nth_of_window = numbered.nth_of_window
    from numbered where events.queue_id = numbered.queue_id`);
}

/** Reads total, cursor check and rows in one statement, so that they show the same moment. */
export async function readSlice(
  database: Queryable,
  filter: EventFilter,
  page: { limit: number; beforeId: bigint | null },
): Promise<EventSlice> {
  const { nth, total, matches } = filterInSql(filter);
  const beforeCursor = page.beforeId === null ? empty : sql`and id < ${page.beforeId}`;
  const cursorKnown =
    page.beforeId === null ? sql`true` : sql`exists (select from events where id = ${page.beforeId} ${matches})`;
  const found = await database.rows<{
    total: bigint;
    cursor_known: boolean;
    id: bigint | null;
    nth: bigint;
    canonical: Buffer;
  }>(sql`
    select whole.total, whole.cursor_known, page.id, page.nth, page.canonical
    from (
      select coalesce((${total}), 0) as total,
        ${cursorKnown} as cursor_known
    ) whole
    left join (
      select id, ${nth} as nth, canonical from events
      where id is not null ${matches} ${beforeCursor} order by id desc limit ${page.limit}
    ) page on true
    order by page.id desc`);
  const [first] = found;
  return {
    total: first?.total ?? 0n,
    cursorKnown: first?.cursor_known ?? true,
    rows: found.flatMap(({ id, nth: position, canonical }) => (id === null ? [] : [{ id, nth: position, canonical }])),
  };
}

/** Returns 0 while nothing is numbered. */
export async function readNewestEventId(database: Queryable): Promise<bigint> {
  const { newest } = await database.one<{ newest: bigint }>(sql`select coalesce(max(id), 0) as newest from events`);
  return newest;
}

export interface NewestEventRow {
  id: bigint;
  canonical: Buffer;
  in_door: boolean;
  nth_of_door: bigint;
  nth_of_window: bigint;
}

/**
 * Returns the newest id (0 while nothing is numbered) and the newest events after `afterId`, newest first: up to `most` of the window and
 * up to `most` of the door. If the log ends before `afterId`, reads from the beginning.
 */
export async function readNewestEvents(
  queryable: Queryable,
  afterId: bigint,
  most: number,
): Promise<{ newestId: bigint; news: NewestEventRow[] }> {
  // Inline the limit, so that every plan can take it into account.
  const newestOf = (view: Sql): Sql => sql`(
    select id, canonical, in_door, nth_of_door, nth_of_window from events
    where id > newest.after_id and id is not null and ${view} order by id desc limit ${raw(String(most))}
  )`;
  const rows = await queryable.rows<{ newest_id: bigint } & (NewestEventRow | { id: null })>(sql`
    select newest.newest_id, news.* from (
      select newest_id, case when newest_id < ${afterId} then 0 else ${afterId} end as after_id
      from (select coalesce(max(id), 0) as newest_id from events) log
    ) newest left join lateral (
      ${newestOf(sql`in_window`)} union ${newestOf(sql`in_door`)}
    ) news on true order by news.id desc`);
  return { newestId: rows[0]?.newest_id ?? 0n, news: rows.filter((row) => row.id !== null) };
}

interface FilterInSql {
  /** Position of a row in the filtered log, from its beginning. For a listing only 1 (the first) or 2 (any other). */
  nth: Sql;
  total: Sql;
  /** Condition that selects the filter's rows. */
  matches: Sql;
}

function filterInSql(filter: EventFilter): FilterInSql {
  if (filter !== null && 'listingId' in filter) return listingFilterInSql(filter.listingId);
  const { nth, matches } = runningCountOf(filter);
  return {
    nth,
    matches,
    total: sql`select ${nth} from events where id is not null ${matches} order by id desc limit 1`,
  };
}

/** Reads the position from the running count that the rows store. */
function runningCountOf(filter: StreamedFilter): Pick<FilterInSql, 'nth' | 'matches'> {
  // `nth` is null in rows older than the column. Their position is their id.
  if (filter === null) return { nth: sql`coalesce(nth, id)`, matches: empty };
  if ('kind' in filter) return { nth: sql`nth_of_kind`, matches: sql`and kind = ${filter.kind}` };
  return filter.scope === 'door'
    ? { nth: sql`nth_of_door`, matches: sql`and in_door` }
    : { nth: sql`nth_of_window`, matches: sql`and in_window` };
}

/** Distinguishes only the first row from all others, because events of a listing store no position. */
function listingFilterInSql(listingId: bigint): FilterInSql {
  const matches = sql`and listing_id = ${listingId}`;
  return {
    matches,
    total: sql`select coalesce(sum(events), 0)::int8 from listing_counters where listing_id = ${listingId}`,
    nth: sql`(case when exists (select from events older where older.listing_id = ${listingId} and older.id < events.id) then 2 else 1 end)::int8`,
  };
}

export interface StreamRow {
  id: bigint;
  kind: EventKind;
  in_door: boolean;
  in_window: boolean;
  canonical: Buffer;
}

/** Reads filtered events after `afterId` up to `upToId`, by id. */
export async function readEventsAfter(
  queryable: Queryable,
  filter: StreamedFilter,
  { afterId, upToId, limit }: { afterId: number; upToId: number; limit: number },
): Promise<StreamRow[]> {
  return queryable.rows<StreamRow>(sql`
    select id, kind, in_door, in_window, canonical from events
    where id > ${afterId} and id <= ${upToId} and id is not null ${runningCountOf(filter).matches} order by id limit ${limit}`);
}
