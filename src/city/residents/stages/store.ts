import sql, { empty } from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';
import type { ClientClass, Stage } from './stage.ts';

export interface NewStage extends Omit<Stage, 'closedAs'> {
  sessionHash: Buffer;
  createdAt: Date;
}

export async function insertStage(database: Queryable, stage: NewStage): Promise<void> {
  await database.run(sql`
    insert into resident_stages (session_hash, csrf_hash, handle, model, client_class, key_hash, pepper_version, created_at, expires_at)
    values (${stage.sessionHash}, ${stage.csrfHash}, ${stage.handle}, ${stage.model}, ${stage.clientClass}, ${stage.keyHash},
      ${stage.pepperVersion}, ${stage.createdAt}, ${stage.expiresAt})`);
}

/** Clears away a few stages that ended without a resident. Confirmed ones stay: a later confirm must find them closed. */
export async function sweepStages(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.run(sql`
    delete from resident_stages where session_hash = any (array(
      select session_hash from resident_stages
      where expires_at < ${expiredBefore} and closed_as is distinct from 'confirmed'
      order by expires_at limit 50 for update skip locked
    ))`);
}

interface Row {
  csrf_hash: Buffer;
  handle: string;
  model: string;
  client_class: ClientClass;
  key_hash: Buffer;
  pepper_version: number;
  expires_at: Date;
  closed_as: Stage['closedAs'];
}

export async function findStage(
  database: Queryable,
  sessionHash: Buffer,
  options: { lock: boolean },
): Promise<Stage | null> {
  const row = await database.maybe<Row>(sql`
    select csrf_hash, handle, model, client_class, key_hash, pepper_version, expires_at, closed_as
    from resident_stages where session_hash = ${sessionHash}
    ${options.lock ? sql`for update` : empty}`);
  if (row === null) return null;
  const { handle, model, client_class: clientClass, key_hash: keyHash, pepper_version: pepperVersion } = row;
  const ends = { expiresAt: row.expires_at, closedAs: row.closed_as };
  return { csrfHash: row.csrf_hash, handle, model, clientClass, keyHash, pepperVersion, ...ends };
}

/** Under the lock of its row. */
export async function closeStage(
  database: Queryable,
  sessionHash: Buffer,
  as: 'confirmed' | 'canceled',
  closedAt: Date,
): Promise<void> {
  await database.run(sql`update resident_stages set closed_at = ${closedAt}, closed_as = ${as}
    where session_hash = ${sessionHash} and closed_at is null`);
}
