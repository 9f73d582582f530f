import sql, { type Sql } from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';

/**
 * The number of the set in force, as a scalar query: the newest that has not ended and whose time has come. One that never had to wait is in
 * force from its commit on, also for a process whose clock is behind.
 */
function inForce(merchantId: Sql, at: Date): Sql {
  return sql`(select max(set_number) from recovery_sets
    where recovery_sets.merchant_id = ${merchantId} and ended_at is null and (valid_from <= ${at} or valid_from = created_at))`;
}

export interface CodeOwner {
  merchantId: bigint;
  setNumber: number;
}

/**
 * The owner of this code; null for one that was never made, is over, or is not yet in force. For a code that was never made the sets of
 * another merchant are searched, so that it takes as long as for one that is over.
 */
export async function findCodeOwner(
  database: Queryable,
  hashes: readonly Buffer[],
  at: Date,
): Promise<CodeOwner | null> {
  const row = await database.maybe<{ merchant_id: bigint; set_number: number }>(sql`
    with named as materialized (
      select coalesce(code.merchant_id, other.merchant_id) as merchant_id, coalesce(code.set_number, -1) as set_number
      from (select merchant_id from recovery_codes limit 1) as other
        left join recovery_codes as code on code.code_hash = any (${hashes}::bytea[])
    )
    select merchant_id, set_number from named where set_number = ${inForce(sql`named.merchant_id`, at)}`);
  return row === null ? null : { merchantId: row.merchant_id, setNumber: row.set_number };
}

export async function findCurrentSet(database: Queryable, merchantId: bigint, at: Date): Promise<number | null> {
  const row = await database.one<{ set_number: number | null }>(
    sql`select ${inForce(sql`${merchantId}`, at)} as set_number`,
  );
  return row.set_number;
}

/** When codes that were made with the key alone come in force; null when there are none that wait. */
export async function findWaitingSet(database: Queryable, merchantId: bigint, at: Date): Promise<Date | null> {
  const row = await database.maybe<{ valid_from: Date }>(sql`
    select valid_from from recovery_sets
    where merchant_id = ${merchantId} and ended_at is null and valid_from > ${at} and valid_from > created_at
    order by set_number desc limit 1`);
  return row?.valid_from ?? null;
}

export interface NewSet {
  merchantId: bigint;
  createdAt: Date;
  validFrom: Date;
  codeHashes: readonly Buffer[];
  pepperVersion: number;
}

/** Under the lock of the merchant's identity, or in the transaction that makes the merchant. */
export async function insertSet(tx: Tx, set: NewSet): Promise<void> {
  const { merchantId } = set;
  const { number } = await tx.one<{ number: number }>(sql`
    insert into recovery_sets (merchant_id, set_number, created_at, valid_from)
    select ${merchantId}::int8, coalesce(max(set_number), 0) + 1, ${set.createdAt}::timestamptz, ${set.validFrom}::timestamptz
    from recovery_sets where merchant_id = ${merchantId}
    returning set_number as number`);
  await tx.run(sql`
    insert into recovery_codes (code_hash, pepper_version, merchant_id, set_number)
    select code_hash, ${set.pepperVersion}::int4, ${merchantId}::int8, ${number}::int4
    from unnest(${set.codeHashes}::bytea[]) as code_hash`);
}

export async function cancelWaitingSets(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(sql`update recovery_sets set ended_at = ${at}, ended_as = 'canceled'
    where merchant_id = ${merchantId} and ended_at is null and valid_from > ${at} and valid_from > created_at`);
}

/** All of them, the ones that wait too. */
export async function endSets(tx: Tx, merchantId: bigint, as: 'replaced' | 'burned', at: Date): Promise<void> {
  await tx.run(sql`update recovery_sets set ended_at = ${at}, ended_as = ${as}
    where merchant_id = ${merchantId} and ended_at is null`);
}
