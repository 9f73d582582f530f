import type { Client } from 'pg';
import sql from 'sql-template-tag';
import { systemClock } from '../clock.ts';
import { connectClient } from './connection.ts';
import type { Queryable } from './database.ts';
import { lockKey } from './lock-key.ts';
import { type Migration, readMigrations } from './migration-files.ts';
import { applyMigration, type OnProgress } from './migrations/run-steps.ts';

interface Applied {
  number: number;
  name: string;
  sha256: Buffer;
}

const CREATE_TABLE = `create table schema_migrations (
  number int4 primary key,
  name text not null,
  sha256 bytea not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

/** How long a process that finds another one at work waits before it looks again. */
const LOOK_AGAIN_MS = 100;

/**
 * Brings the database at `url` up to the last file of the folder and returns the names of what it applied. A file is one
 * transaction, or several steps that are noted one by one. Two processes that start at once are safe: the second waits for
 * the first, then finds nothing to do.
 */
export async function migrate(url: string, folder: string, onProgress: OnProgress = () => {}): Promise<string[]> {
  const migrations = await readMigrations(folder);
  // A migration may take as long as it needs.
  const client = await connectClient({ url, applicationName: 'openaisle-migrate', statementTimeoutMs: 0 });
  try {
    await lockMigrations(client);
    // Not "if not exists": that asks for the right to create, which a market that finds all in place need not have.
    const found = await client.query<{ there: boolean }>(
      "select to_regclass('schema_migrations') is not null as there",
    );
    if (found.rows[0]?.there !== true) await client.query(CREATE_TABLE);
    const applied = await client.query<Applied>('select number, name, sha256 from schema_migrations order by number');
    const pending = pendingAfter(applied.rows, migrations);
    for (const migration of pending) await applyMigration(client, migration, onProgress);
    return pending.map(({ name }) => name);
  } finally {
    // The session's end gives the lock back.
    await client.end();
  }
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

/** What the database still lacks. Throws when it holds a migration this code does not know, or another text of one. */
export async function pendingMigrations(database: Queryable, folder: string): Promise<Migration[]> {
  return pendingAfter(await appliedMigrations(database), await readMigrations(folder));
}

/** Whether the database is exactly at the state of the folder; false too when it is ahead or differs. */
export async function migrationsComplete(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedMigrations(database), readMigrations(folder)]);
  return findMismatch(applied, migrations) === null && applied.length === migrations.length;
}

/** Whether the database has all that this code needs: it may be ahead, since what comes later only adds. */
export async function migrationsSuffice(database: Queryable, folder: string): Promise<boolean> {
  const [applied, migrations] = await Promise.all([appliedMigrations(database), readMigrations(folder)]);
  return applied.length >= migrations.length && findMismatch(applied.slice(0, migrations.length), migrations) === null;
}

async function appliedMigrations(database: Queryable): Promise<Applied[]> {
  const { there } = await database.one<{ there: boolean }>(
    sql`select to_regclass('schema_migrations') is not null as there`,
  );
  return there ? database.rows<Applied>(sql`select number, name, sha256 from schema_migrations order by number`) : [];
}

function pendingAfter(applied: readonly Applied[], migrations: readonly Migration[]): Migration[] {
  const mismatch = findMismatch(applied, migrations);
  if (mismatch !== null) throw new Error(mismatch);
  return migrations.slice(applied.length);
}

function findMismatch(applied: readonly Applied[], migrations: readonly Migration[]): string | null {
  for (const [index, { number, name, sha256 }] of applied.entries()) {
    if (number !== index + 1) return `schema_migrations lacks number ${index + 1}: rows of it were removed`;
    const known = migrations[index];
    if (known === undefined)
      return `the database is ahead of this code: migration ${name} is applied and unknown here; run the newer version`;
    if (!known.sha256.equals(sha256))
      return `migration ${known.name} was changed after it was applied (as ${name}): restore its text and add a new file`;
  }
  return null;
}
