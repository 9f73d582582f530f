import type { Client } from 'pg';
import { systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import { lockKey } from './advisory-locks.ts';
import {
  type AppliedMigration,
  CREATE_COMPATIBLE,
  CREATE_MIGRATIONS,
  checkMayMigrate,
  checkMayRead,
  findMismatch,
  type ReadRows,
  readApplied,
} from './applied-migrations.ts';
import { applyMigration, type OnProgress } from './apply-migration.ts';
import { connectClient } from './connection.ts';
import type { Queryable } from './database.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import { refuseTransactionPooler } from './refuse-pooler.ts';

/** Delay before trying the lock again while another process migrates. */
const LOCK_POLL_MS = 100;

/**
 * Applies all missing migrations of the folder and returns their names. A file is one transaction, or several steps that are recorded one
 * by one. A transaction that another one keeps from its locks is rolled back and runs again. If two processes start at once, the second waits for the first and finds nothing to do. If nothing is missing and `rights` is
 * empty, takes no lock. `rights` are statements that run afterwards in one transaction. Throws `RightsMissing` if the role of `url` may not
 * make these changes or read the tables.
 */
export async function migrate(
  url: string,
  folder: string,
  onProgress: OnProgress = () => {},
  rights: readonly string[] = [],
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const connection = { url, applicationName: 'openaisle-migrate', statementTimeoutMs: 0 };
  const client = await connectClient(connection);
  const rows: ReadRows = async (query) => (await client.query(query)).rows;
  try {
    const waiting = await findPending(rows, migrations);
    if (waiting.length === 0 && rights.length === 0) return [];
    await checkMayMigrate(rows, waiting);
    // A transaction pooler would keep the session open, and with it the lock.
    await refuseTransactionPooler(connection);
    await lockMigrations(client);
    const applied = await readApplied(rows);
    if (applied === null) await client.query(CREATE_MIGRATIONS);
    const pending = pendingAfter(applied ?? [], migrations);
    if (pending.length > 0) await client.query(CREATE_COMPATIBLE);
    for (const migration of pending) await applyMigration(client, migration, onProgress);
    if (rights.length > 0) await grantRights(client, rights);
    return pending.map(({ name }) => name);
  } finally {
    // Ending the session releases the lock.
    await client.end();
  }
}

async function grantRights(client: Client, rights: readonly string[]): Promise<void> {
  await client.query(['begin', ...rights, 'commit'].join(';\n')).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the migrations are applied, but no rights were granted: ${why}`, { cause: error });
  });
}

/** Returns the `onProgress` of a server, which writes log lines. */
export function logProgress(log: Log): OnProgress {
  return (progress) => {
    if ('attempt' in progress) log.warn('migration_repeated', progress);
    else log.info('migrating', { migration: progress.migration, step: progress.step, count: progress.rows });
  };
}

/** Polls, because `create index concurrently` waits for every running statement, including one that waits in the database for this lock. */
async function lockMigrations(client: Client): Promise<void> {
  const key = lockKey('migration', 'schema_migrations');
  for (;;) {
    const got = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1::int8) as locked', [key]);
    if (got.rows[0]?.locked === true) return;
    await systemClock.sleep(LOCK_POLL_MS);
  }
}

/** Returns the missing migrations. Throws if the database has an unknown incompatible migration, or one whose text differs. */
export async function pendingMigrations(database: Queryable, folder: string): Promise<Migration[]> {
  return findPending((query) => database.rows(query), await readMigrations(folder));
}

/** Returns true if this code may start on the database: all of its migrations are applied, and any others are compatible. */
export async function migrationsComplete(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedIn(database), readMigrations(folder)]);
  return findMismatch(applied, migrations) === null && applied.length >= migrations.length;
}

/** Returns true if the database has everything that running code needs. The database may be ahead, because later migrations only add. */
export async function migrationsSuffice(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedIn(database), readMigrations(folder)]);
  return applied.length >= migrations.length && findMismatch(applied.slice(0, migrations.length), migrations) === null;
}

async function findPending(rows: ReadRows, migrations: readonly Migration[]): Promise<Migration[]> {
  const applied = (await readApplied(rows)) ?? [];
  const pending = pendingAfter(applied, migrations);
  // This version needs no rights to tables of a newer version.
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
