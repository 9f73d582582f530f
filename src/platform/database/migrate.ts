import type { Client } from 'pg';
import { systemClock } from '../clock.ts';
import { connectClient } from './connection.ts';
import type { Queryable } from './database.ts';
import { lockKey } from './lock-key.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import {
  type AppliedMigration,
  CREATE_COMPATIBLE,
  CREATE_MIGRATIONS,
  findMismatch,
  type ReadRows,
  readApplied,
} from './migrations/applied-migrations.ts';
import { checkMayMigrate, checkMayRead } from './migrations/check-rights.ts';
import { applyMigration, type OnProgress } from './migrations/run-steps.ts';

/** How long a process that finds another one at work waits before it looks again. */
const LOOK_AGAIN_MS = 100;

/**
 * Brings the database at `url` up to the last file of the folder and returns the names of what it applied. A file is one
 * transaction, or several steps that are noted one by one. Two processes that start at once are safe: the second waits for
 * the first, then finds nothing to do. A process that finds nothing to do does not wait. `rights` are statements that are run afterwards,
 * in one transaction. Throws `RightsMissing` where the role of `url` may not do what there is to do, or not read what is there.
 */
export async function migrate(
  url: string,
  folder: string,
  onProgress: OnProgress = () => {},
  rights: readonly string[] = [],
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  // A migration may take as long as it needs.
  const client = await connectClient({ url, applicationName: 'openaisle-migrate', statementTimeoutMs: 0 });
  const rows: ReadRows = async (query) => (await client.query(query)).rows;
  try {
    const waiting = await findPending(rows, migrations);
    if (waiting.length === 0 && rights.length === 0) return [];
    await checkMayMigrate(rows, waiting);
    await lockMigrations(client);
    const applied = await readApplied(rows);
    if (applied === null) await client.query(CREATE_MIGRATIONS);
    const pending = pendingAfter(applied ?? [], migrations);
    if (pending.length > 0) await client.query(CREATE_COMPATIBLE);
    for (const migration of pending) await applyMigration(client, migration, onProgress);
    if (rights.length > 0) await giveRights(client, rights);
    return pending.map(({ name }) => name);
  } finally {
    // The session's end gives the lock back.
    await client.end();
  }
}

async function giveRights(client: Client, rights: readonly string[]): Promise<void> {
  await client.query(['begin', ...rights, 'commit'].join(';\n')).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the migrations are applied, and no rights were given: ${why}`, { cause: error });
  });
}

/** Asks again and again: an index that is made concurrently waits for every statement that runs, also for one that waits for this lock. */
async function lockMigrations(client: Client): Promise<void> {
  const key = lockKey('migration', 'schema_migrations');
  for (;;) {
    const got = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1::int8) as locked', [key]);
    if (got.rows[0]?.locked === true) return;
    await systemClock.sleep(LOOK_AGAIN_MS);
  }
}

/** What the database still lacks. Throws when it holds a migration that this code does not know and cannot do with, or another text of one. */
export async function pendingMigrations(database: Queryable, folder: string): Promise<Migration[]> {
  return findPending((query) => database.rows(query), await readMigrations(folder));
}

/** Whether this code may begin to work on the database: it has all of the folder, and beyond it only what is compatible. */
export async function migrationsComplete(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedIn(database), readMigrations(folder)]);
  return findMismatch(applied, migrations) === null && applied.length >= migrations.length;
}

/** Whether the database has all that code which runs already needs: it may be ahead, since what comes later only adds. */
export async function migrationsSuffice(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedIn(database), readMigrations(folder)]);
  return applied.length >= migrations.length && findMismatch(applied.slice(0, migrations.length), migrations) === null;
}

async function findPending(rows: ReadRows, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = (await readApplied(rows)) ?? [];
  const pending = pendingAfter(applied, migrations);
  // What only a newer version has made is none of this one's business.
  if (applied.length <= migrations.length) await checkMayRead(rows);
  return pending;
}

async function appliedIn(database: Queryable): Promise<AppliedMigration[]> {
  return (await readApplied((query) => database.rows(query))) ?? [];
}

function pendingAfter(applied: readonly AppliedMigration[], migrations: readonly Migration[]): Migration[] {
  const mismatch = findMismatch(applied, migrations);
  if (mismatch !== null) throw new Error(mismatch);
  return migrations.slice(applied.length);
}
