import sql, { empty } from 'sql-template-tag';
import type { CLIENT_CLASSES } from '../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { KeyHash } from '../../../platform/key-hash.ts';

export type ClientClass = (typeof CLIENT_CLASSES)[number];

export interface SecretHashes extends KeyHash {
  codeHashes: readonly Buffer[];
}

interface Registration extends SecretHashes {
  kind: 'register';
  handle: string;
  model: string;
  clientClass: ClientClass;
}

interface Rotation extends KeyHash {
  kind: 'rotate';
  merchantId: bigint;
  /** The key to be replaced. If another change replaces it first, this change can no longer be confirmed. */
  begunByKey: bigint;
}

interface Recovery extends SecretHashes {
  kind: 'recovery';
  merchantId: bigint;
  /** The set of codes to be burned. If it is no longer valid, this change can no longer be confirmed. */
  begunBySet: number;
}

export type IdentityChange = Registration | Rotation | Recovery;

export type ChangeKind = IdentityChange['kind'];

export type ChangeOfKind<Kind extends ChangeKind> = Extract<IdentityChange, { kind: Kind }>;

/** A change begun at an identity endpoint. It has no effect before it is confirmed. */
export interface PendingChange<Change extends IdentityChange = IdentityChange> {
  csrfHash: Buffer;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | 'superseded' | null;
  change: Change;
}

const KINDS_COLUMNS = sql`handle, model, client_class, code_hashes, merchant_id, begun_by_key, begun_by_set`;

interface NewPendingChange {
  sessionHash: Buffer;
  csrfHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  change: IdentityChange;
}

export async function insertPendingChange(database: Queryable, pending: NewPendingChange): Promise<void> {
  const { change } = pending;
  const row = {
    handle: null,
    model: null,
    clientClass: null,
    codeHashes: null,
    merchantId: null,
    begunByKey: null,
    begunBySet: null,
    ...change,
  };
  await database.run(sql`
    insert into identity_stages (session_hash, csrf_hash, kind, key_hash, pepper_version, created_at, expires_at, ${KINDS_COLUMNS})
    values (${pending.sessionHash}, ${pending.csrfHash}, ${row.kind}, ${row.keyHash}, ${row.pepperVersion}, ${pending.createdAt},
      ${pending.expiresAt}, ${row.handle}, ${row.model}, ${row.clientClass}, ${row.codeHashes}, ${row.merchantId},
      ${row.begunByKey}, ${row.begunBySet})`);
}

/** Deletes a few expired changes that were not confirmed. Confirmed ones stay, because a later confirm must find them closed. */
export async function sweepPendingChanges(database: Queryable, expiredBefore: Date): Promise<number> {
  return database.run(sql`
    delete from identity_stages where session_hash = any (array(
      select session_hash from identity_stages
      where expires_at < ${expiredBefore} and closed_as is distinct from 'confirmed'
      order by expires_at limit 50 for update skip locked
    ))`);
}

interface Row {
  csrf_hash: Buffer;
  kind: ChangeKind;
  key_hash: Buffer;
  pepper_version: number;
  expires_at: Date;
  closed_as: PendingChange['closedAs'];
  handle: string;
  model: string;
  client_class: Extract<IdentityChange, { kind: 'register' }>['clientClass'];
  code_hashes: Buffer[];
  merchant_id: bigint;
  begun_by_key: bigint;
  begun_by_set: number;
}

export async function findPendingChange(
  database: Queryable,
  sessionHash: Buffer,
  options: { lock: boolean },
): Promise<PendingChange | null> {
  const row = await database.maybe<Row>(sql`
    select csrf_hash, kind, key_hash, pepper_version, expires_at, closed_as, ${KINDS_COLUMNS}
    from identity_stages where session_hash = ${sessionHash}
    ${options.lock ? sql`for update` : empty}`);
  if (row === null) return null;
  return { csrfHash: row.csrf_hash, expiresAt: row.expires_at, closedAs: row.closed_as, change: changeOf(row) };
}

/** The table's check constraint defines which columns each kind has. */
function changeOf(row: Row): IdentityChange {
  const hashes = { keyHash: row.key_hash, pepperVersion: row.pepper_version };
  switch (row.kind) {
    case 'register':
      return {
        kind: 'register',
        ...hashes,
        codeHashes: row.code_hashes,
        handle: row.handle,
        model: row.model,
        clientClass: row.client_class,
      };
    case 'rotate':
      return { kind: 'rotate', ...hashes, merchantId: row.merchant_id, begunByKey: row.begun_by_key };
    case 'recovery':
      return {
        kind: 'recovery',
        ...hashes,
        codeHashes: row.code_hashes,
        merchantId: row.merchant_id,
        begunBySet: row.begun_by_set,
      };
  }
}

export async function closePendingChange(
  tx: Tx,
  sessionHash: Buffer,
  as: 'confirmed' | 'canceled',
  closedAt: Date,
): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${closedAt}, closed_as = ${as}
    where session_hash = ${sessionHash} and closed_at is null`);
}

/** Closes every open change of the merchant. Close the one being confirmed first. */
export async function supersedePendingChanges(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${at}, closed_as = 'superseded'
    where merchant_id = ${merchantId} and closed_at is null`);
}
