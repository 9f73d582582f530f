import sql, { raw } from 'sql-template-tag';
import type { Queryable, Tx } from '../database/database.ts';
import type { CopiedEvent, LogEnd } from './log-copy.ts';

// Each site that has a log has these tables: events, recoveries, history_losses, log_copies, id_floors.

/** State of the log at the position where a copy ends. */
export interface LogAtEnd {
  /** True if the server is in recovery. It may then lag, so it proves nothing. */
  inRecovery: boolean;
  /** 0 for an empty log. */
  newestId: bigint;
  /** Hash of the event with the copy's last id. Null if there is no such event, or it was written before events had hashes. */
  hash: Buffer | null;
  /** True if a recovery skipped the copy's last id, so no event with that id is missing. */
  leftOut: boolean;
  lostId: bigint | null;
}

/** Reads everything in one statement, so that it is consistent. */
export async function readLogAtEnd(queryable: Queryable, lastId: bigint): Promise<LogAtEnd> {
  const row = await queryable.one<{
    in_recovery: boolean;
    newest_id: bigint;
    hash: Buffer | null;
    left_out: boolean;
    lost_id: bigint | null;
  }>(sql`
    select pg_is_in_recovery() as in_recovery, coalesce((select max(id) from events), 0) as newest_id,
      (select running_hash from events where id = ${lastId}) as hash,
      exists (select from recoveries where kept_event_id < ${lastId} and event_id > ${lastId}) as left_out,
      (select id from history_losses where recovered_by is null) as lost_id`);
  return {
    inRecovery: row.in_recovery,
    newestId: row.newest_id,
    hash: row.hash,
    leftOut: row.left_out,
    lostId: row.lost_id,
  };
}

/** Returns the end of the newest copy among the other hosts. */
export async function findOtherEnd(queryable: Queryable, host: string): Promise<LogEnd | null> {
  const row = await queryable.maybe<{ last_id: bigint; running_hash: Buffer }>(
    sql`select last_id, running_hash from log_copies where host <> ${host} order by last_id desc limit 1`,
  );
  return row && { id: row.last_id, hash: row.running_hash };
}

export async function recordCopyEnd(queryable: Queryable, host: string, end: LogEnd, now: Date): Promise<void> {
  await queryable.run(sql`
    insert into log_copies (host, last_id, running_hash, written_at) values (${host}, ${end.id}, ${end.hash}, ${now})
    on conflict (host) do update set last_id = excluded.last_id, running_hash = excluded.running_hash, written_at = excluded.written_at`);
}

/** Reads events, oldest first. Leaves out events written before events had hashes, because nothing proves that they are unchanged. */
export async function readEventsToCopy(queryable: Queryable, afterId: bigint, limit: number): Promise<CopiedEvent[]> {
  return queryable.rows<CopiedEvent>(sql`
    select id, running_hash as hash, canonical from events
    where id > ${afterId} and running_hash is not null order by id limit ${limit}`);
}

/**
 * Returns true if the log contains events that are missing from a copy with that end. An empty copy starts with the events after
 * `startsAfter`.
 */
export async function hasEventsToCopy(queryable: Queryable, end: LogEnd | null, startsAfter: Date): Promise<boolean> {
  const above = end === null ? sql`numbered_at >= ${startsAfter}` : sql`id > ${end.id}`;
  const { lacks } = await queryable.one<{ lacks: boolean }>(
    sql`select exists (select from events where ${above} and running_hash is not null) as lacks`,
  );
  return lacks;
}

/** Returns the id before the first event numbered after that time. Null if there is none. */
export async function findCopyStart(queryable: Queryable, after: Date): Promise<bigint | null> {
  const { id } = await queryable.one<{ id: bigint | null }>(sql`
    select min(id) - 1 as id from events where numbered_at >= ${after} and running_hash is not null`);
  return id;
}

/** Records a loss, which stops every process. Returns false if a loss is already recorded. */
export async function insertLoss(
  queryable: Queryable,
  loss: { copy: LogEnd; foundId: bigint; host: string; now: Date },
): Promise<boolean> {
  const { copy, foundId, host, now } = loss;
  const touched = await queryable.run(sql`
    insert into history_losses (copied_id, copied_hash, found_id, host, noticed_at)
    values (${copy.id}, ${copy.hash}, ${foundId}, ${host}, ${now})
    on conflict ((recovered_by is null)) where recovered_by is null do nothing`);
  return touched === 1;
}

/** Losses of a log. A site may add its own fields. */
export interface Losses {
  /** Id of the loss that is not recovered yet. */
  open: bigint | null;
  /** Number of losses and recoveries. A change means that the history is different. */
  count: bigint;
}

/** Columns of `Losses` in the query of a site. */
export const lossColumns = sql`(select id from history_losses where recovered_by is null) as open,
      (select count(*) filter (where recovered_by is null) + count(*) from history_losses) + (select count(*) from recoveries) as count`;

/** Returns the id of the last of these events that the log contains with the same hash, or null. */
export async function findLastAlike(queryable: Queryable, events: readonly LogEnd[]): Promise<bigint | null> {
  const { id } = await queryable.one<{ id: bigint | null }>(sql`
    select max(e.id) as id
    from unnest(${events.map(({ id: one }) => one)}::int8[], ${events.map(({ hash }) => hash)}::bytea[]) as copied (id, hash)
    join events e on e.id = copied.id and e.running_hash = copied.hash`);
  return id;
}

/** Returns the highest id that a table has assigned, according to its rows, its sequence and earlier recoveries. */
export async function findHighest(queryable: Queryable, table: string): Promise<bigint> {
  const { id } = await queryable.one<{ id: bigint }>(sql`
    select greatest(next_id(${table}, max(id)) - 1, pg_sequence_last_value(pg_get_serial_sequence(${table}, 'id'))) as id from ${raw(table)}`);
  return id;
}

export async function raiseFloor(tx: Tx, kind: string, id: bigint): Promise<void> {
  await tx.run(sql`
    insert into id_floors (kind, id) values (${kind}, ${id})
    on conflict (kind) do update set id = greatest(id_floors.id, excluded.id)`);
}
