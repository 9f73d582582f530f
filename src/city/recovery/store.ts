import sql, { raw } from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Losses, lossColumns } from '../../platform/log-copy/store.ts';

/** The tables that the log of acts tells of: what names a row, and what of it may change. */
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

/** The tables whose ids are shown. */
export const NUMBERED = ['residents', 'things', 'offers', 'reservations'] as const;
export type Numbered = (typeof NUMBERED)[number];

/** One change of a row, as the log tells of it. */
export interface Act {
  eventId: bigint;
  act: 'insert' | 'update' | 'delete';
  kind: ActKind;
  /** Acts of one transaction stand together in the log, and have this alike. */
  group: string;
  /** The JSON of the event, with the row in it. */
  canonical: string;
}

/** No other transaction commits an act until the end of this one. */
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
  /** The first id that the log gives out from now on. */
  eventId: bigint;
  found: Readonly<Record<string, unknown>>;
  now: Date;
}

/** Ends the loss, too: from here on the transaction may write. */
export async function insertRecovery(tx: Tx, given: Recovery): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into recoveries (reason, kept_event_id, event_id, found, at)
    values (${given.reason}, ${given.keptEventId}, ${given.eventId}, ${JSON.stringify(given.found)}::jsonb, ${given.now})
    returning id`);
  await tx.run(sql`update history_losses set recovered_by = ${id} where recovered_by is null`);
  return id;
}

/** Their ids come from a sequence, which knows nothing of floors. */
export async function raiseReservations(tx: Tx, id: bigint): Promise<void> {
  await tx.run(sql`select setval(pg_get_serial_sequence('reservations', 'id'), ${id})`);
}

/** Registrations under way have to begin again: their stages do not know whether what was lost held the confirm. */
export async function endStages(tx: Tx, at: Date): Promise<void> {
  await tx.run(
    sql`update resident_stages set closed_at = ${at}, closed_as = 'canceled' where closed_at is null and created_at <= ${at}`,
  );
}

/** Holds the handle of a lost resident: no key fits it, and no other resident can take it. False if the handle is taken already. */
export async function holdHandle(tx: Tx, { canonical }: Act): Promise<boolean> {
  const touched = await tx.run(sql`
    insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
    select case when exists (select from residents r where r.id = told.id) then next_id('residents', (select max(r.id) from residents r)) else told.id end,
      handle, handle_skeleton, 'lost', 'coding_persistent', sha256(convert_to('lost ' || handle, 'UTF8')), pepper_version, joined_at
    from jsonb_populate_record(null::residents, ${canonical}::jsonb->'row') told
    on conflict do nothing`);
  return touched === 1;
}

/** What follows is of one transaction, and is told so again. */
export async function beginGroup(tx: Tx, group: string): Promise<void> {
  await tx.run(sql`select set_config('openaisle.acts_with', ${group}, true)`);
}

/** What the books have to hold at a commit, they have to hold here. */
export async function endGroup(tx: Tx): Promise<void> {
  await tx.run(sql`set constraints all immediate`);
  await tx.run(sql`set constraints all deferred`);
}

/** The number of rows touched: one, unless the books hold something else there. */
export async function putBack(tx: Tx, { act, kind, canonical }: Act): Promise<number> {
  const { key, changes } = TABLES[kind];
  const table = raw(kind);
  const row = sql`jsonb_populate_record(null::${table}, ${canonical}::jsonb->'row') told`;
  const isIt = raw(key.map((name) => `here.${name} = told.${name}`).join(' and '));
  if (kind === 'id_floors') {
    return tx.run(sql`
      insert into id_floors as here select * from ${row}
      on conflict (kind) do update set id = greatest(here.id, excluded.id)`);
  }
  if (act === 'insert') return tx.run(sql`insert into ${table} overriding system value select * from ${row}`);
  if (act === 'delete') return tx.run(sql`delete from ${table} here using ${row} where ${isIt}`);
  const set = raw(changes.map((name) => `${name} = told.${name}`).join(', '));
  return tx.run(sql`update ${table} here set ${set} from ${row} where ${isIt}`);
}

export async function readLosses(queryable: Queryable): Promise<Losses> {
  return queryable.one<Losses>(sql`select ${lossColumns}`);
}
