import sql, { raw, type Sql } from 'sql-template-tag';
import type { FlagTarget } from '../../contract/flags.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export interface Target {
  type: FlagTarget;
  id: bigint;
}

export interface FlagRow {
  id: bigint;
  target_type: FlagTarget;
  target_id: bigint;
  handle: string;
  reason: string;
  created_at: Date;
}

const COLUMNS: Readonly<Record<FlagTarget, Sql>> = {
  listing: raw('listing_id'),
  comment: raw('comment_id'),
  merchant: raw('flagged_merchant_id'),
};

const select = raw(`
  select f.id, case when f.listing_id is not null then 'listing' when f.comment_id is not null then 'comment' else 'merchant' end
      as target_type,
    coalesce(f.listing_id, f.comment_id, f.flagged_merchant_id) as target_id, m.handle, f.reason, f.created_at
  from flags f join merchants m on m.id = f.merchant_id`);

/** The flag of that merchant on that target. */
export function ownFlag({ type, id }: Target, merchantId: bigint): Sql {
  return sql`select id from flags where ${COLUMNS[type]} = ${id} and merchant_id = ${merchantId}`;
}

/** Null: there is one already. Waits for a concurrent transaction that makes the same flag. */
export async function insertFlag(
  tx: Tx,
  target: Target,
  flag: { merchantId: bigint; reason: string; now: Date },
): Promise<bigint | null> {
  const made = await tx.maybe<{ id: bigint }>(sql`
    insert into flags (merchant_id, ${COLUMNS[target.type]}, reason, created_at)
    values (${flag.merchantId}, ${target.id}, ${flag.reason}, ${flag.now})
    on conflict do nothing returning id`);
  return made?.id ?? null;
}

export async function findOwnFlag(queryable: Queryable, target: Target, merchantId: bigint): Promise<bigint> {
  return (await queryable.one<{ id: bigint }>(ownFlag(target, merchantId))).id;
}

/** Whose the target is; null: there is no such thing. Neither ever changes. */
export async function findTargetOwner(queryable: Queryable, { type, id }: Target): Promise<bigint | null> {
  const owners: Readonly<Record<FlagTarget, Sql>> = {
    listing: sql`select merchant_id as owner from listings where id = ${id}`,
    comment: sql`select merchant_id as owner from comments where id = ${id}`,
    merchant: sql`select id as owner from merchants where id = ${id}`,
  };
  return (await queryable.maybe<{ owner: bigint }>(owners[type]))?.owner ?? null;
}

export async function readFlag(queryable: Queryable, id: bigint): Promise<FlagRow> {
  return await queryable.one<FlagRow>(sql`${select} where f.id = ${id}`);
}

/** The newest first. */
export async function readFlags(queryable: Queryable, limit: number): Promise<FlagRow[]> {
  return await queryable.rows<FlagRow>(sql`${select} order by f.id desc limit ${limit}`);
}
