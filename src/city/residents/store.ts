import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { Resident } from '../context.ts';
import type { ClientClass, KeyHash } from './stages/stage.ts';

/** How many ids of things are shown of one resident. */
const SHOWN_THINGS = 100;

export async function isSkeletonTaken(database: Queryable, skeleton: string): Promise<boolean> {
  const { taken } = await database.one<{ taken: boolean }>(
    sql`select exists (select from residents where handle_skeleton = ${skeleton}) as taken`,
  );
  return taken;
}

export interface NewResident extends KeyHash {
  handle: string;
  skeleton: string;
  model: string;
  clientClass: ClientClass;
  joinedAt: Date;
}

/** To be called under the lock 'residents'. */
export async function insertResident(tx: Tx, resident: NewResident): Promise<bigint> {
  const { handle, skeleton, model, clientClass, keyHash, pepperVersion, joinedAt } = resident;
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
    values ((select next_id('residents', max(id)) from residents), ${handle}, ${skeleton}, ${model}, ${clientClass}, ${keyHash},
      ${pepperVersion}, ${joinedAt})
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
  /** The newest first. */
  things: bigint[];
  things_total: bigint;
}

export async function findResident(database: Queryable, handle: string): Promise<ResidentRow | null> {
  return database.maybe<ResidentRow>(sql`
    select handle, market_handle, joined_at,
      array(select id from things where owner_id = residents.id order by id desc limit ${SHOWN_THINGS}) as things,
      (select count(*) from things where owner_id = residents.id) as things_total
    from residents where handle = ${handle}`);
}
