import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { insertSet } from './codes/store.ts';
import type { ClientClass, KeyHash, SecretHashes } from './stages/stage.ts';

/** One at a time for each merchant: whatever replaces its key or its codes. */
export async function lockIdentity(tx: Tx, merchantId: bigint): Promise<void> {
  await tx.lock(`identity:${merchantId}`);
}

export async function isSkeletonTaken(database: Queryable, skeleton: string): Promise<boolean> {
  const { taken } = await database.one<{ taken: boolean }>(
    sql`select exists (select from merchants where handle_skeleton = ${skeleton}) as taken`,
  );
  return taken;
}

/** To be called under the lock 'merchants'. Id 1 is the maintainer's and never given here. */
export async function nextMerchantId(tx: Tx): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(
    sql`select greatest(next_id('merchants', max(id)), 2) as id from merchants`,
  );
  return id;
}

/** Of a merchant that exists. */
export async function findHandle(database: Queryable, merchantId: bigint): Promise<string> {
  const { handle } = await database.one<{ handle: string }>(sql`select handle from merchants where id = ${merchantId}`);
  return handle;
}

export async function maybeHandle(database: Queryable, merchantId: bigint): Promise<string | null> {
  const row = await database.maybe<{ handle: string }>(sql`select handle from merchants where id = ${merchantId}`);
  return row?.handle ?? null;
}

export interface NewMerchant extends SecretHashes {
  id: bigint;
  handle: string;
  skeleton: string;
  model: string;
  clientClass: ClientClass;
  joinedAt: Date;
}

export async function insertMerchant(tx: Tx, merchant: NewMerchant): Promise<void> {
  const { id, joinedAt, pepperVersion } = merchant;
  await tx.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    values (${id}, ${merchant.handle}, ${merchant.skeleton}, ${merchant.model}, ${merchant.clientClass}, ${joinedAt})`);
  await insertKey(tx, id, merchant, joinedAt);
  const { codeHashes } = merchant;
  await insertSet(tx, { merchantId: id, createdAt: joinedAt, validFrom: joinedAt, codeHashes, pepperVersion });
}

async function insertKey(tx: Tx, merchantId: bigint, { keyHash, pepperVersion }: KeyHash, at: Date): Promise<void> {
  await tx.run(sql`
    insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
    values (${keyHash}, ${pepperVersion}, ${merchantId}, ${at})`);
}

/** Under the lock of the merchant's identity. The old key stays on record, revoked. */
export async function replaceKey(tx: Tx, merchantId: bigint, key: KeyHash, at: Date): Promise<void> {
  await tx.run(sql`update merchant_keys set revoked_at = ${at}
    where merchant_id = ${merchantId} and revoked_at is null`);
  // What a recovery of lost history waited for.
  await tx.run(sql`delete from identity_locks where merchant_id = ${merchantId}`);
  await insertKey(tx, merchantId, key, at);
}

/** The number of the key in force. */
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
  /** YYYY-MM-DD in UTC. */
  lastUsedOn: string | null;
}

/** A revoked key has no owner. */
export async function findKeyOwner(database: Queryable, hashes: readonly Buffer[]): Promise<KeyOwner | null> {
  const row = await database.maybe<{
    key_id: bigint;
    pepper_version: number;
    id: bigint;
    handle: string;
    last_used_on: string | null;
  }>(sql`
    select merchant_keys.id as key_id, merchant_keys.pepper_version, merchants.id, merchants.handle,
      merchant_keys.last_used_on
    from merchant_keys join merchants on merchants.id = merchant_keys.merchant_id
    where merchant_keys.key_hash = any (${hashes}::bytea[]) and merchant_keys.revoked_at is null`);
  if (row === null) return null;
  const { key_id: keyId, pepper_version: pepperVersion, id: merchantId, handle, last_used_on: lastUsedOn } = row;
  return { keyId, pepperVersion, merchantId, handle, lastUsedOn };
}

/** Under the newest pepper from now on, so that an older one can be given up once its keys have been used. */
export async function noteKeyUse(database: Queryable, keyId: bigint, day: string, newest: KeyHash): Promise<void> {
  await database.run(sql`update merchant_keys
    set last_used_on = ${day}::date, key_hash = ${newest.keyHash}, pepper_version = ${newest.pepperVersion}
    where id = ${keyId} and (last_used_on is distinct from ${day}::date or pepper_version < ${newest.pepperVersion})`);
}

export interface NewPairingCode {
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

/** Clears away a few that ran out long ago. */
export async function sweepPairingCodes(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.run(sql`
    delete from pairing_codes where code_hash = any (array(
      select code_hash from pairing_codes where expires_at < ${expiredBefore}
      order by expires_at limit 50 for update skip locked
    ))`);
}

export async function endPairingCodes(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(sql`update pairing_codes set ended_at = ${at}, ended_as = 'revoked'
    where merchant_id = ${merchantId} and ended_at is null`);
}

export async function revokeGrants(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(
    sql`update hosted_grants set revoked_at = ${at} where merchant_id = ${merchantId} and revoked_at is null`,
  );
}
