import sql, { type Sql } from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';

const SHOWN_OWNERS = 100;

/** Inserts a thing that belongs to its maker, the first owner in its history. Call under the lock 'things'. */
export async function insertThing(
  tx: Tx,
  { name, makerId, at }: { name: string; makerId: bigint; at: Date },
): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into things (id, name, owner_id, created_at)
    values ((select next_id('things', max(id)) from things), ${name}, ${makerId}, ${at})
    returning id`);
  await tx.run(
    sql`insert into thing_owners (thing_id, nth, owner_id, owned_from) values (${id}, 1, ${makerId}, ${at})`,
  );
  return id;
}

export interface LockedThing {
  id: bigint;
  ownerId: bigint;
}

/** Locks the thing's row. Call before deciding to offer or move a thing. */
export async function lockThing(tx: Tx, id: bigint): Promise<LockedThing | null> {
  const row = await tx.maybe<{ owner_id: bigint }>(sql`select owner_id from things where id = ${id} for update`);
  return row === null ? null : { id, ownerId: row.owner_id };
}

async function findOpenOffer(database: Queryable, thingId: bigint): Promise<bigint | null> {
  const row = await database.maybe<{ id: bigint }>(
    sql`select id from offers where thing_id = ${thingId} and phase not in ('claimed', 'canceled')`,
  );
  return row?.id ?? null;
}

export interface Move {
  thingId: bigint;
  to: bigint;
  at: Date;
  /** The sale that moves the thing; null for a gift. */
  offerId: bigint | null;
}

/** Call with the thing's row locked. */
export async function moveThing(tx: Tx, { thingId, to, at, offerId }: Move): Promise<void> {
  await tx.run(sql`update things set owner_id = ${to} where id = ${thingId}`);
  await tx.run(sql`
    insert into thing_owners (thing_id, nth, owner_id, owned_from, offer_id)
    select ${thingId}, max(nth) + 1, ${to}, ${at}, ${offerId} from thing_owners where thing_id = ${thingId}`);
}

export async function findResidentId(database: Queryable, handle: string): Promise<bigint | null> {
  const row = await database.maybe<{ id: bigint }>(sql`select id from residents where handle = ${handle}`);
  return row?.id ?? null;
}

export interface ThingRow {
  id: bigint;
  name: string;
  owner: string;
  created_at: Date;
  offer_id: bigint | null;
  history_total: bigint;
}

export async function findThing(database: Queryable, id: bigint): Promise<ThingRow | null> {
  return database.maybe<ThingRow>(sql`
    select things.id, things.name, residents.handle as owner, things.created_at,
      (select offers.id from offers where thing_id = things.id and phase not in ('claimed', 'canceled')) as offer_id,
      (select count(*) from thing_owners where thing_id = things.id) as history_total
    from things join residents on residents.id = things.owner_id
    where things.id = ${id}`);
}

export interface OwnerRow {
  owner: string;
  owned_from: Date;
  offer_id: bigint | null;
}

/** Lists owners, newest first. */
export async function listOwners(database: Queryable, thingId: bigint): Promise<OwnerRow[]> {
  return database.rows<OwnerRow>(sql`
    select residents.handle as owner, thing_owners.owned_from, thing_owners.offer_id
    from thing_owners join residents on residents.id = thing_owners.owner_id
    where thing_owners.thing_id = ${thingId}
    order by thing_owners.nth desc limit ${SHOWN_OWNERS}`);
}

/** Throws if the thing is under offer. Call with the thing's row locked. */
export async function mustNotBeUnderOffer(tx: Tx, thingId: bigint): Promise<void> {
  const offerId = await findOpenOffer(tx, thingId);
  if (offerId !== null) throw new Refusal('thing_locked', { fields: { offer_id: Number(offerId) } });
}

export interface TileRow {
  id: bigint;
  name: string;
  owner: string;
  locked: boolean;
}

const TILE: Sql = sql`
  select things.id, things.name, residents.handle as owner,
    exists (select from offers where thing_id = things.id and phase not in ('claimed', 'canceled')) as locked
  from things join residents on residents.id = things.owner_id`;

export async function listNewest(database: Queryable, limit: number): Promise<TileRow[]> {
  return database.rows<TileRow>(sql`${TILE} order by things.id desc limit ${limit}`);
}

export async function listThingsOf(database: Queryable, handle: string, limit: number): Promise<TileRow[]> {
  return database.rows<TileRow>(sql`${TILE} where residents.handle = ${handle} order by things.id desc limit ${limit}`);
}

export async function countThings(database: Queryable): Promise<number> {
  const { count } = await database.one<{ count: bigint }>(sql`select count(*) from things`);
  return Number(count);
}
