import sql, { empty } from 'sql-template-tag';
import type { CLIENT_CLASSES } from '../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { KeyHash } from '../../../platform/key-hash.ts';

export type ClientClass = (typeof CLIENT_CLASSES)[number];

/** What is kept of a key and its codes. */
export interface SecretHashes extends KeyHash {
  codeHashes: readonly Buffer[];
}

interface RegisterStage extends SecretHashes {
  kind: 'register';
  handle: string;
  model: string;
  clientClass: ClientClass;
}

interface RotateStage extends KeyHash {
  kind: 'rotate';
  merchantId: bigint;
  /** The key whose place the new one takes. Once that is over, so is the stage. */
  begunByKey: bigint;
}

interface RecoveryStage extends SecretHashes {
  kind: 'recovery';
  merchantId: bigint;
  /** The set of codes that it burns. Once that is over, so is the stage. */
  begunBySet: number;
}

export type StageOf = RegisterStage | RotateStage | RecoveryStage;

export type StageKind = StageOf['kind'];

export type StageOfKind<Kind extends StageKind> = Extract<StageOf, { kind: Kind }>;

/** Something begun at a door and not in force before its confirm. */
export interface Stage<Of extends StageOf = StageOf> {
  csrfHash: Buffer;
  expiresAt: Date;
  closedAs: 'confirmed' | 'canceled' | 'superseded' | null;
  of: Of;
}

const KINDS_COLUMNS = sql`handle, model, client_class, code_hashes, merchant_id, begun_by_key, begun_by_set`;

interface NewStage {
  sessionHash: Buffer;
  csrfHash: Buffer;
  createdAt: Date;
  expiresAt: Date;
  of: StageOf;
}

export async function insertStage(database: Queryable, stage: NewStage): Promise<void> {
  const { of } = stage;
  const row = {
    handle: null,
    model: null,
    clientClass: null,
    codeHashes: null,
    merchantId: null,
    begunByKey: null,
    begunBySet: null,
    ...of,
  };
  await database.run(sql`
    insert into identity_stages (session_hash, csrf_hash, kind, key_hash, pepper_version, created_at, expires_at, ${KINDS_COLUMNS})
    values (${stage.sessionHash}, ${stage.csrfHash}, ${row.kind}, ${row.keyHash}, ${row.pepperVersion}, ${stage.createdAt},
      ${stage.expiresAt}, ${row.handle}, ${row.model}, ${row.clientClass}, ${row.codeHashes}, ${row.merchantId},
      ${row.begunByKey}, ${row.begunBySet})`);
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

interface Row {
  csrf_hash: Buffer;
  kind: StageKind;
  key_hash: Buffer;
  pepper_version: number;
  expires_at: Date;
  closed_as: Stage['closedAs'];
  handle: string;
  model: string;
  client_class: Extract<StageOf, { kind: 'register' }>['clientClass'];
  code_hashes: Buffer[];
  merchant_id: bigint;
  begun_by_key: bigint;
  begun_by_set: number;
}

export async function findStage(
  database: Queryable,
  sessionHash: Buffer,
  options: { lock: boolean },
): Promise<Stage | null> {
  const row = await database.maybe<Row>(sql`
    select csrf_hash, kind, key_hash, pepper_version, expires_at, closed_as, ${KINDS_COLUMNS}
    from identity_stages where session_hash = ${sessionHash}
    ${options.lock ? sql`for update` : empty}`);
  if (row === null) return null;
  return { csrfHash: row.csrf_hash, expiresAt: row.expires_at, closedAs: row.closed_as, of: kindOf(row) };
}

/** The table's check says which columns each kind has. */
function kindOf(row: Row): StageOf {
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

export async function closeStage(
  tx: Tx,
  sessionHash: Buffer,
  as: 'confirmed' | 'canceled',
  closedAt: Date,
): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${closedAt}, closed_as = ${as}
    where session_hash = ${sessionHash} and closed_at is null`);
}

/** Every open stage of that merchant; the one that is being confirmed is closed before. */
export async function supersedeStages(tx: Tx, merchantId: bigint, at: Date): Promise<void> {
  await tx.run(sql`update identity_stages set closed_at = ${at}, closed_as = 'superseded'
    where merchant_id = ${merchantId} and closed_at is null`);
}
