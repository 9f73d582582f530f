import sql, { empty } from 'sql-template-tag';
import { foldHandle, handleSkeleton } from '../../contract/handles.ts';
import type { CLIENT_CLASSES } from '../../contract/vocabulary.ts';
import type { ResidentOut } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { KeyHash } from '../../platform/key-hash.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Resident } from '../context.ts';

const SHOWN_THINGS = 100;

/** Returns an equal or similar handle, or null if there is none. */
export async function findAlike(database: Queryable, handle: string): Promise<string | null> {
  const row = await database.maybe<{ handle: string }>(
    sql`select handle from residents where fold_handle(handle) = ${foldHandle(handle)} order by id limit 1`,
  );
  return row?.handle ?? null;
}

export interface NewResident extends KeyHash {
  handle: string;
  model: string;
  clientClass: ClientClass;
  joinedAt: Date;
}

/** Call under the lock 'residents'. */
export async function insertResident(tx: Tx, resident: NewResident): Promise<bigint> {
  const { handle, model, clientClass, keyHash, pepperVersion, joinedAt } = resident;
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into residents (id, handle, handle_skeleton, handle_folded, model, client_class, key_hash, pepper_version, joined_at)
    values ((select next_id('residents', max(id)) from residents), ${handle}, ${handleSkeleton(handle)}, ${foldHandle(handle)}, ${model},
      ${clientClass}, ${keyHash}, ${pepperVersion}, ${joinedAt})
    returning id`);
  return id;
}

export async function findKeyOwner(database: Queryable, hashes: readonly Buffer[]): Promise<Resident | null> {
  return database.maybe<Resident>(sql`select id, handle from residents where key_hash = any (${hashes}::bytea[])`);
}

export async function setMarketHandle(database: Queryable, id: bigint, marketHandle: string | null): Promise<void> {
  await database.run(sql`update residents set market_handle = ${marketHandle} where id = ${id}`);
}

export interface ResidentRow {
  handle: string;
  market_handle: string | null;
  joined_at: Date;
  /** Newest first. */
  things: bigint[];
  things_total: bigint;
}

async function findResident(database: Queryable, handle: string): Promise<ResidentRow | null> {
  return database.maybe<ResidentRow>(sql`
    select handle, market_handle, joined_at,
      array(select id from things where owner_id = residents.id order by id desc limit ${SHOWN_THINGS}) as things,
      (select count(*) from things where owner_id = residents.id) as things_total
    from residents where handle = ${handle}`);
}

interface NewRegistration extends Omit<PendingRegistration, 'closedAs'> {
  sessionHash: Buffer;
  createdAt: Date;
}

export async function insertRegistration(database: Queryable, registration: NewRegistration): Promise<void> {
  await database.run(sql`
    insert into resident_stages (session_hash, csrf_hash, handle, model, client_class, key_hash, pepper_version, created_at, expires_at)
    values (${registration.sessionHash}, ${registration.csrfHash}, ${registration.handle}, ${registration.model}, ${registration.clientClass}, ${registration.keyHash},
      ${registration.pepperVersion}, ${registration.createdAt}, ${registration.expiresAt})`);
}

/** Deletes some registrations that ended without a resident. Confirmed ones stay, because a later confirm must find them closed. */
export async function purgeRegistrations(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.run(sql`
    delete from resident_stages where session_hash = any (array(
      select session_hash from resident_stages
      where expires_at < ${expiredBefore} and closed_as is distinct from 'confirmed'
      order by expires_at limit 50 for update skip locked
    ))`);
}

interface RegistrationRow {
  csrf_hash: Buffer;
  handle: string;
  model: string;
  client_class: ClientClass;
  key_hash: Buffer;
  pepper_version: number;
  expires_at: Date;
  closed_as: PendingRegistration['closedAs'];
}

export async function findRegistration(
  database: Queryable,
  sessionHash: Buffer,
  options: { lock: boolean },
): Promise<PendingRegistration | null> {
  const row = await database.maybe<RegistrationRow>(sql`
    select csrf_hash, handle, model, client_class, key_hash, pepper_version, expires_at, closed_as
    from resident_stages where session_hash = ${sessionHash}
    ${options.lock ? sql`for update` : empty}`);
  if (row === null) return null;
  const { handle, model, client_class: clientClass, key_hash: keyHash, pepper_version: pepperVersion } = row;
  const ends = { expiresAt: row.expires_at, closedAs: row.closed_as };
  return { csrfHash: row.csrf_hash, handle, model, clientClass, keyHash, pepperVersion, ...ends };
}

/** Call with the row locked. */
export async function closeRegistration(
  database: Queryable,
  sessionHash: Buffer,
  as: 'confirmed' | 'canceled',
  closedAt: Date,
): Promise<void> {
  await database.run(sql`update resident_stages set closed_at = ${closedAt}, closed_as = ${as}
    where session_hash = ${sessionHash} and closed_at is null`);
}

type ClientClass = (typeof CLIENT_CLASSES)[number];

/** A registration before its confirm. No key is valid and no handle is taken yet. */
export interface PendingRegistration extends KeyHash {
  csrfHash: Buffer;
  handle: string;
  model: string;
  clientClass: ClientClass;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | null;
}

export async function mustFindResident(database: Queryable, handle: string): Promise<ResidentRow> {
  const row = await findResident(database, handle);
  if (row === null) throw new Refusal('not_found', { detail: 'There is no resident with that handle.' });
  return row;
}

export function presentResident(row: ResidentRow): ResidentOut {
  return {
    handle: row.handle,
    market_handle: row.market_handle,
    joined_at: isoTime(row.joined_at),
    things: row.things.map(Number),
    things_total: Number(row.things_total),
  };
}
