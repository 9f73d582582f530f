import sql, { type Sql } from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

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
