import sql, { type Sql } from 'sql-template-tag';
import { foldHandle, handleSkeleton } from '../../contract/handles.ts';
import { MAINTAINER_MERCHANT_ID } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { KeyHash } from '../../platform/key-hash.ts';
import { type ClientClass, type SecretHashes, supersedePendingChanges } from './pending-changes/store.ts';

/** Lets one transaction at a time replace the merchant's key or codes. */
export async function lockIdentity(tx: Tx, merchantId: bigint): Promise<void> {
  await tx.lock(`identity:${merchantId}`);
}

export interface HandleConflicts {
  /** A handle that looks like the new one, or null. */
  alike: string | null;
  maintainer: string | null;
}

export async function findHandleConflicts(database: Queryable, handle: string): Promise<HandleConflicts> {
  return database.one<HandleConflicts>(sql`
    select (select handle from merchants where fold_handle(handle) = ${foldHandle(handle)} order by id limit 1) as alike,
      (select handle from merchants where id = ${MAINTAINER_MERCHANT_ID}::int8) as maintainer`);
}

/** Returns the next id, which is never 1 (the maintainer's). Call it under the lock 'merchants'. */
export async function nextMerchantId(tx: Tx): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`select greatest(next_id('merchants', max(id)), 2) as id from merchants`,
  );
  return id;
}

/** Throws if there is no such merchant. */
export async function findHandle(database: Queryable, merchantId: bigint): Promise<string> {
  const { handle } = await database.one<{ handle: string }>(sql`select handle from merchants where id = ${merchantId}`);
  return handle;
}

export async function findHandleOrNull(database: Queryable, merchantId: bigint): Promise<string | null> {
  const row = await database.maybe<{ handle: string }>(sql`select handle from merchants where id = ${merchantId}`);
  return row?.handle ?? null;
}

interface NewMerchant extends SecretHashes {
  id: bigint;
  handle: string;
  model: string;
  clientClass: ClientClass;
  joinedAt: Date;
}

export async function insertMerchant(tx: Tx, merchant: NewMerchant): Promise<void> {
  const { id, handle, joinedAt, pepperVersion, codeHashes } = merchant;
  await tx.run(sql`
    insert into merchants (id, handle, handle_skeleton, handle_folded, model, client_class, joined_at)
    values (${id}, ${handle}, ${handleSkeleton(handle)}, ${foldHandle(handle)}, ${merchant.model}, ${merchant.clientClass}, ${joinedAt})`);
  await insertKey(tx, id, merchant, joinedAt);
  await insertSet(tx, { merchantId: id, createdAt: joinedAt, validFrom: joinedAt, codeHashes, pepperVersion });
}

async function insertKey(tx: Tx, merchantId: bigint, { keyHash, pepperVersion }: KeyHash, at: Date): Promise<void> {
  await tx.run(sql`
    insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
    values (${keyHash}, ${pepperVersion}, ${merchantId}, ${at})`);
}

/** Replaces the key; the old one stays on record as revoked. Call it under the identity lock. */
export async function replaceKey(tx: Tx, merchantId: bigint, key: KeyHash, at: Date): Promise<void> {
  await tx.run(sql`update merchant_keys set revoked_at = ${at}
    where merchant_id = ${merchantId} and revoked_at is null`);
  // Unlock the identity. A recovery of lost history may have locked it until a new key is in place.
  await tx.run(sql`delete from identity_locks where merchant_id = ${merchantId}`);
  await insertKey(tx, merchantId, key, at);
}

export async function findCurrentKey(database: Queryable, merchantId: bigint): Promise<bigint | null> {
  const row = await database.maybe<{ id: bigint }>(
    sql`select id from merchant_keys where merchant_id = ${merchantId} and revoked_at is null`,
  );
  return row?.id ?? null;
}

export interface KeyOwner {
  keyId: bigint;
  pepperVersion: number;
  merchantId: bigint;
  handle: string;
  /** Day of the last use (YYYY-MM-DD, UTC). */
  lastUsedOn: string | null;
}

/** Returns null if the key is unknown or revoked. */
export async function findKeyOwner(database: Queryable, hashes: readonly Buffer[]): Promise<KeyOwner | null> {
  return database.maybe<KeyOwner>(sql`
    select merchant_keys.id as "keyId", merchant_keys.pepper_version as "pepperVersion", merchants.id as "merchantId", merchants.handle,
      merchant_keys.last_used_on as "lastUsedOn"
    from merchant_keys join merchants on merchants.id = merchant_keys.merchant_id
    where merchant_keys.key_hash = any (${hashes}::bytea[]) and merchant_keys.revoked_at is null`);
}

/** Also stores the hash under the newest pepper, so that an older pepper can be dropped once all its keys were used. */
export async function recordKeyUse(database: Queryable, keyId: bigint, day: string, newest: KeyHash): Promise<void> {
  await database.run(sql`update merchant_keys
    set last_used_on = ${day}::date, key_hash = ${newest.keyHash}, pepper_version = ${newest.pepperVersion}
    where id = ${keyId} and (last_used_on is distinct from ${day}::date or pepper_version < ${newest.pepperVersion})`);
}

interface NewPairingCode {
  codeHash: Buffer;
  pepperVersion: number;
  merchantId: bigint;
  createdAt: Date;
  expiresAt: Date;
}

export async function insertPairingCode(database: Queryable, code: NewPairingCode): Promise<void> {
  await database.run(sql`
    insert into pairing_codes (code_hash, pepper_version, merchant_id, created_at, expires_at)
    values (${code.codeHash}, ${code.pepperVersion}, ${code.merchantId}, ${code.createdAt}, ${code.expiresAt})`);
}

/** Deletes a few codes that expired long ago. */
export async function sweepPairingCodes(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.run(sql`
    delete from pairing_codes where code_hash = any (array(
      select code_hash from pairing_codes where expires_at < ${expiredBefore}
      order by expires_at limit 50 for update skip locked
    ))`);
}

async function endPairingCodes(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(sql`update pairing_codes set ended_at = ${at}, ended_as = 'revoked'
    where merchant_id = ${merchantId} and ended_at is null`);
}

async function revokeGrants(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(
    sql`update hosted_grants set revoked_at = ${at} where merchant_id = ${merchantId} and revoked_at is null`,
  );
}

/**
 * Selects the number of the valid set, which is the newest set that has not ended and no longer waits. A set that never had to wait is
 * valid from its commit on, even for a process whose clock is behind.
 */
function codeSetInForce(merchantId: Sql, at: Date): Sql {
  return sql`(select max(set_number) from recovery_sets
    where recovery_sets.merchant_id = ${merchantId} and ended_at is null and (valid_from <= ${at} or valid_from = created_at))`;
}

interface CodeOwner {
  merchantId: bigint;
  setNumber: number;
}

/**
 * Returns the owner of this code. Null if the code is unknown or not in its owner's valid set. For an unknown code, searches the sets of
 * some merchant, so that the query takes as long as for an ended code.
 */
export async function findCodeOwner(
  database: Queryable,
  hashes: readonly Buffer[],
  at: Date,
): Promise<CodeOwner | null> {
  return database.maybe<CodeOwner>(sql`
    with named as materialized (
      select coalesce(code.merchant_id, other.merchant_id) as merchant_id, coalesce(code.set_number, -1) as set_number
      from (select merchant_id from recovery_codes limit 1) as other
        left join recovery_codes as code on code.code_hash = any (${hashes}::bytea[])
    )
    select merchant_id as "merchantId", set_number as "setNumber" from named where set_number = ${codeSetInForce(sql`named.merchant_id`, at)}`);
}

export async function findCurrentSet(database: Queryable, merchantId: bigint, at: Date): Promise<number | null> {
  const query = sql`select ${codeSetInForce(sql`${merchantId}`, at)} as number`;
  return (await database.one<{ number: number | null }>(query)).number;
}

/** Returns when codes made with the key alone will become valid, or null if none are waiting. */
export async function findWaitingSet(database: Queryable, merchantId: bigint, at: Date): Promise<Date | null> {
  const row = await database.maybe<{ valid_from: Date }>(sql`
    select valid_from from recovery_sets
    where merchant_id = ${merchantId} and ended_at is null and valid_from > ${at} and valid_from > created_at
    order by set_number desc limit 1`);
  return row?.valid_from ?? null;
}

interface NewSet {
  merchantId: bigint;
  createdAt: Date;
  validFrom: Date;
  codeHashes: readonly Buffer[];
  pepperVersion: number;
}

/** Inserts a set of codes. Call it under the identity lock, or in the transaction that creates the merchant. */
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

/** Ends all sets, waiting ones too. */
export async function endSets(tx: Tx, merchantId: bigint, as: 'replaced' | 'burned', at: Date): Promise<void> {
  await tx.run(sql`update recovery_sets set ended_at = ${at}, ended_as = ${as}
    where merchant_id = ${merchantId} and ended_at is null`);
}

export interface PepperUse {
  version: number;
  keys: number;
  codes: number;
  /** Pending changes and pairing codes that are open. They last for minutes. */
  open: number;
}

/** Counts what depends on each pepper: valid keys, codes that are valid or waiting, and open pending changes and pairing codes. */
export async function countPepperUses(database: Queryable, at: Date): Promise<PepperUse[]> {
  return database.rows<PepperUse>(sql`
    with in_force as (
      select merchant_id, max(set_number) as set_number from recovery_sets
      where ended_at is null and (valid_from <= ${at} or valid_from = created_at) group by merchant_id
    ), uses as (
      select pepper_version, 1 as keys, 0 as codes, 0 as open from merchant_keys where revoked_at is null
      union all
      select c.pepper_version, 0, 1, 0 from recovery_codes c
        join recovery_sets s using (merchant_id, set_number) left join in_force f on f.merchant_id = s.merchant_id
        where s.ended_at is null and s.set_number >= coalesce(f.set_number, 0)
      union all
      select pepper_version, 0, 0, 1 from identity_stages where closed_at is null and expires_at > ${at}
      union all
      select pepper_version, 0, 0, 1 from pairing_codes where ended_at is null and expires_at > ${at}
    )
    select pepper_version as version, sum(keys)::int4 as keys, sum(codes)::int4 as codes, sum(open)::int4 as open
    from uses group by pepper_version order by pepper_version desc`);
}

/** Ends grants, pairing codes and pending changes. Call it under the identity lock, in the transaction that replaces the key. */
export async function revokeAccess(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await supersedePendingChanges(tx, merchantId, at);
  await endPairingCodes(tx, merchantId, at);
  await revokeGrants(tx, merchantId, at);
}
