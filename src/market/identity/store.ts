import sql, { empty } from 'sql-template-tag';
import type { CLIENT_CLASSES } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export type ClientClass = (typeof CLIENT_CLASSES)[number];

/** What is kept of a key and its codes. */
export interface SecretHashes {
  pepperVersion: number;
  keyHash: Buffer;
  codeHashes: readonly Buffer[];
}

export interface NewStage extends SecretHashes {
  sessionHash: Buffer;
  csrfHash: Buffer;
  handle: string;
  model: string;
  clientClass: ClientClass;
  createdAt: Date;
  expiresAt: Date;
}

export interface Stage extends SecretHashes {
  csrfHash: Buffer;
  handle: string;
  model: string;
  clientClass: ClientClass;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | null;
}

export async function insertStage(database: Queryable, stage: NewStage): Promise<void> {
  await database.run(sql`
    insert into identity_stages (session_hash, csrf_hash, kind, handle, model, client_class, key_hash, code_hashes,
      pepper_version, created_at, expires_at)
    values (${stage.sessionHash}, ${stage.csrfHash}, 'register', ${stage.handle}, ${stage.model}, ${stage.clientClass},
      ${stage.keyHash}, ${stage.codeHashes}, ${stage.pepperVersion}, ${stage.createdAt}, ${stage.expiresAt})`);
}

/** Clears away a few stages that ended without a merchant. Confirmed ones stay: a later confirm must find them closed. */
export async function sweepStages(database: Queryable, expiredBefore: Date): Promise<number> {
  return database.run(sql`
    delete from identity_stages where session_hash = any (array(
      select session_hash from identity_stages
      where expires_at < ${expiredBefore} and closed_as is distinct from 'confirmed'
      order by expires_at limit 50 for update skip locked
    ))`);
}

export async function findStage(
  database: Queryable,
  sessionHash: Buffer,
  options: { lock: boolean },
): Promise<Stage | null> {
  const row = await database.maybe<{
    csrf_hash: Buffer;
    handle: string;
    model: string;
    client_class: ClientClass;
    key_hash: Buffer;
    code_hashes: Buffer[];
    pepper_version: number;
    expires_at: Date;
    closed_as: Stage['closedAs'];
  }>(sql`
    select csrf_hash, handle, model, client_class, key_hash, code_hashes, pepper_version, expires_at, closed_as
    from identity_stages where session_hash = ${sessionHash} and kind = 'register'
    ${options.lock ? sql`for update` : empty}`);
  if (row === null) return null;
  return {
    csrfHash: row.csrf_hash,
    handle: row.handle,
    model: row.model,
    clientClass: row.client_class,
    keyHash: row.key_hash,
    codeHashes: row.code_hashes,
    pepperVersion: row.pepper_version,
    expiresAt: row.expires_at,
    closedAs: row.closed_as,
  };
}

export async function closeStage(
  tx: Tx,
  sessionHash: Buffer,
  as: 'confirmed' | 'canceled',
  closedAt: Date,
): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${closedAt}, closed_as = ${as}
    where session_hash = ${sessionHash} and closed_at is null`);
}

export async function isSkeletonTaken(database: Queryable, skeleton: string): Promise<boolean> {
  const { taken } = await database.one<{ taken: boolean }>(
    sql`select exists (select from merchants where handle_skeleton = ${skeleton}) as taken`,
  );
  return taken;
}

/** To be called under the lock 'merchants'. Id 1 is the maintainer's and never given here. */
export async function nextMerchantId(tx: Tx): Promise<bigint> {
  const { id } = await tx.one<{ id: bigint }>(sql`select greatest(coalesce(max(id), 0) + 1, 2) as id from merchants`);
  return id;
}

export async function findHandle(database: Queryable, merchantId: bigint): Promise<string | null> {
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
  await tx.run(sql`
    insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
    values (${merchant.keyHash}, ${pepperVersion}, ${id}, ${joinedAt})`);
  await tx.run(sql`
    insert into recovery_codes (code_hash, pepper_version, merchant_id, set_number, created_at)
    select code_hash, ${pepperVersion}::int4, ${id}::int8, 1, ${joinedAt}::timestamptz
    from unnest(${merchant.codeHashes}::bytea[]) as code_hash`);
}

export interface KeyOwner {
  keyHash: Buffer;
  merchantId: bigint;
  handle: string;
  /** YYYY-MM-DD in UTC. */
  lastUsedOn: string | null;
}

/** A revoked key is nobody's. */
export async function findKeyOwner(database: Queryable, hashes: readonly Buffer[]): Promise<KeyOwner | null> {
  const row = await database.maybe<{ key_hash: Buffer; id: bigint; handle: string; last_used_on: string | null }>(sql`
    select merchant_keys.key_hash, merchants.id, merchants.handle, merchant_keys.last_used_on
    from merchant_keys join merchants on merchants.id = merchant_keys.merchant_id
    where merchant_keys.key_hash = any (${hashes}::bytea[]) and merchant_keys.revoked_at is null`);
  if (row === null) return null;
  return { keyHash: row.key_hash, merchantId: row.id, handle: row.handle, lastUsedOn: row.last_used_on };
}

export async function noteKeyUse(database: Queryable, keyHash: Buffer, day: string): Promise<void> {
  await database.run(sql`update merchant_keys set last_used_on = ${day}::date
    where key_hash = ${keyHash} and last_used_on is distinct from ${day}::date`);
}
