import sql, { raw } from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Losses, lossColumns } from '../../platform/log-copy/store.ts';

/** Tables in the log of acts, with the key of a row and the columns that may change. */
const TABLES = {
  residents: { key: ['id'], changes: ['market_handle'] },
  things: { key: ['id'], changes: ['owner_id'] },
  thing_owners: { key: ['thing_id', 'nth'], changes: [] },
  offers: {
    key: ['id'],
    changes: [
      ...['phase', 'market_listing_id', 'reservation_id', 'pending_since', 'tx_hash', 'block_number', 'block_time'],
      ...['end_reason', 'claimed_at', 'canceled_at'],
    ],
  },
  reservations: { key: ['id'], changes: ['seen_tx_hash', 'lapsed_at'] },
  claims: { key: ['reservation_id', 'tx_hash'], changes: ['refused'] },
  sale_proofs: { key: ['tx_hash'], changes: [] },
  id_floors: { key: ['kind'], changes: ['id'] },
} as const satisfies Record<string, { key: string[]; changes: string[] }>;
export type ActKind = keyof typeof TABLES;
export const ACT_KINDS = Object.keys(TABLES) as readonly ActKind[];

/** Tables whose ids are public. */
export const NUMBERED = ['residents', 'things', 'offers', 'reservations'] as const;
export type Numbered = (typeof NUMBERED)[number];

export interface Act {
  eventId: bigint;
  act: 'insert' | 'update' | 'delete';
  kind: ActKind;
  /** Identifies the transaction of the act. All acts of a transaction are adjacent in the log. */
  group: string;
  /** JSON of the event, which contains the row. */
  canonical: string;
}

/** Prevents other transactions from committing acts until this one ends. */
export async function lockActs(tx: Tx): Promise<void> {
  await tx.run(sql`select pg_advisory_xact_lock(hashtextextended('events', 0))`);
}

export async function readNewestEventId(queryable: Queryable): Promise<bigint> {
  const { id } = await queryable.one<{ id: bigint }>(sql`select coalesce(max(id), 0) as id from events`);
  return id;
}

export interface Recovery {
  reason: string;
  keptEventId: bigint;
  /** First id that the log issues from now on. */
  eventId: bigint;
  counts: Readonly<Record<string, unknown>>;
  now: Date;
}

/** Inserts the recovery and marks the losses as recovered, so that the transaction may write from here on. */
export async function insertRecovery(tx: Tx, recovery: Recovery): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into recoveries (reason, kept_event_id, event_id, found, at)
    values (${recovery.reason}, ${recovery.keptEventId}, ${recovery.eventId}, ${JSON.stringify(recovery.counts)}::jsonb, ${recovery.now})
    returning id`);
  await tx.run(sql`update history_losses set recovered_by = ${id} where recovered_by is null`);
  return id;
}

/** Raises the sequence of reservation ids, which ignores floors. */
export async function raiseReservationSequence(tx: Tx, id: bigint): Promise<void> {
  await tx.run(sql`select setval(pg_get_serial_sequence('reservations', 'id'), ${id})`);
}

/** Cancels pending registrations. They must start again, because nobody can know whether their confirm was lost. */
export async function endRegistrations(tx: Tx, at: Date): Promise<void> {
  await tx.run(
    sql`update resident_stages set closed_at = ${at}, closed_as = 'canceled' where closed_at is null and created_at <= ${at}`,
  );
}

/** Adds a lost resident without a usable key, so that nobody can take its handle. Returns false if the handle is taken already. */
export async function reserveHandle(tx: Tx, { canonical }: Act): Promise<boolean> {
  const touched = await tx.run(sql`
    insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
    select case when exists (select from residents r where r.id = entry.id) then next_id('residents', (select max(r.id) from residents r)) else entry.id end,
      handle, handle_skeleton, 'lost', 'coding_persistent', sha256(convert_to('lost ' || handle, 'UTF8')), pepper_version, joined_at
    from jsonb_populate_record(null::residents, ${canonical}::jsonb->'row') entry
    on conflict do nothing`);
  return touched === 1;
}

/** Logs the following acts as one transaction again. */
export async function beginGroup(tx: Tx, group: string): Promise<void> {
  await tx.run(sql`select set_config('openaisle.acts_with', ${group}, true)`);
}

/** Checks the constraints that a commit would check. */
export async function endGroup(tx: Tx): Promise<void> {
  await tx.run(sql`set constraints all immediate`);
  await tx.run(sql`set constraints all deferred`);
}

/** Returns the number of rows affected. It is 0 if the row to change is missing. */
export async function restoreRow(tx: Tx, { act, kind, canonical }: Act): Promise<number> {
  const { key, changes } = TABLES[kind];
  const table = raw(kind);
  const row = sql`jsonb_populate_record(null::${table}, ${canonical}::jsonb->'row') entry`;
  const isIt = raw(key.map((name) => `here.${name} = entry.${name}`).join(' and '));
  if (kind === 'id_floors') {
    return tx.run(sql`
      insert into id_floors as here select * from ${row}
      on conflict (kind) do update set id = greatest(here.id, excluded.id)`);
  }
  if (act === 'insert') return tx.run(sql`insert into ${table} overriding system value select * from ${row}`);
  if (act === 'delete') return tx.run(sql`delete from ${table} here using ${row} where ${isIt}`);
  const set = raw(changes.map((name) => `${name} = entry.${name}`).join(', '));
  return tx.run(sql`update ${table} here set ${set} from ${row} where ${isIt}`);
}

export async function readLosses(queryable: Queryable): Promise<Losses> {
  return queryable.one<Losses>(sql`select ${lossColumns}`);
}
