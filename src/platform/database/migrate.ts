import type { Client } from 'pg';
import { systemClock } from '../clock.ts';
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
  tableOf,
} from './applied-migrations.ts';
import { connectClient } from './connection.ts';
import type { Queryable } from './database.ts';
import { type Migration, readMigrations, readSteps, type Step } from './migration-files.ts';
import { refuseTransactionPooler } from './refuse-pooler.ts';

/** Delay before trying the lock again while another process migrates. */
const LOCK_POLL_MS = 100;

/**
 * Applies all missing migrations of the folder and returns their names. A file is one transaction, or several steps that are recorded one
 * by one. If two processes start at once, the second waits for the first and finds nothing to do. If nothing is missing and `rights` is
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

export interface Progress {
  migration: string;
  step: string;
  rows: number;
  done: boolean;
}

export type OnProgress = (progress: Progress) => void;

const REPORT_EVERY_MS = 5_000;

const CREATE_STEPS = `create table if not exists schema_migration_steps (
  number int4 not null,
  step int4 not null,
  sha256 bytea not null,
  done_at timestamptz not null default clock_timestamp(),
  primary key (number, step)
)`;

/** Applies one migration. Skips steps that were already recorded. */
async function applyMigration(client: Client, migration: Migration, onProgress: OnProgress): Promise<void> {
  try {
    const steps = readSteps(migration.text);
    const [first] = steps;
    if (steps.length === 1 && first?.kind === 'transaction') await inTransaction(client, first.text, migration);
    else await runSteps(client, migration, steps, onProgress);
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw new Error(`migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function runSteps(
  client: Client,
  migration: Migration,
  steps: readonly Step[],
  onProgress: OnProgress,
): Promise<void> {
  await client.query(CREATE_STEPS);
  const done = await client.query<{ step: number; sha256: Buffer }>(
    'select step, sha256 from schema_migration_steps where number = $1 order by step',
    [migration.number],
  );
  if (done.rows.some(({ sha256 }) => !sha256.equals(migration.sha256)))
    throw new Error('it was changed after some of its steps were applied: restore its text');
  for (const [index, step] of steps.entries()) {
    if (index < done.rows.length) continue;
    const report = (rows: number, isDone: boolean): void =>
      onProgress({ migration: migration.name, step: stepName(step, index), rows, done: isDone });
    if (step.kind === 'transaction') await inTransaction(client, step.text, migration, index);
    else {
      const rows =
        step.kind === 'fill' ? await runFill(client, step.text, report) : await createIndexes(client, step.indexes);
      await recordStep(client, migration, index);
      report(rows, true);
    }
  }
  await client.query('begin');
  await recordMigration(client, migration);
  await client.query('delete from schema_migration_steps where number = $1', [migration.number]);
  await client.query('commit');
}

function stepName(step: Step, index: number): string {
  if (step.kind === 'fill') return `fill ${step.name}`;
  return step.kind === 'concurrently' ? step.indexes.map(({ name }) => name).join(', ') : `part ${index + 1}`;
}

/** Runs the text and records it in the same transaction, as one step or as the whole migration. */
async function inTransaction(client: Client, text: string, migration: Migration, part?: number): Promise<void> {
  await client.query('begin');
  await client.query(text);
  if (client.getTransactionStatus() !== 'T') throw new Error('it must not begin or end transactions itself');
  await (part === undefined ? recordMigration(client, migration) : recordStep(client, migration, part));
  await client.query('commit');
}

async function recordStep(client: Client, { number, sha256 }: Migration, step: number): Promise<void> {
  await client.query('insert into schema_migration_steps (number, step, sha256) values ($1, $2, $3)', [
    number,
    step,
    sha256,
  ]);
}

async function recordMigration(client: Client, migration: Migration): Promise<void> {
  const { number, name, sha256 } = migration;
  await client.query(`insert into ${tableOf(migration)} (number, name, sha256) values ($1, $2, $3)`, [
    number,
    name,
    sha256,
  ]);
}

/** Repeats the statement until it changes no row. The statement itself selects the remaining rows, so a kill loses at most one batch. */
async function runFill(client: Client, text: string, report: (rows: number, isDone: boolean) => void): Promise<number> {
  let rows = 0;
  let reportedAtMs = systemClock.now();
  for (;;) {
    const { rowCount } = await client.query(text);
    if (rowCount === null || rowCount === 0) return rows;
    rows += rowCount;
    if (systemClock.now() - reportedAtMs < REPORT_EVERY_MS) continue;
    reportedAtMs = systemClock.now();
    report(rows, false);
  }
}

/** Creates the indexes. Recreates an invalid one, which an interruption left behind: it slows down writes and serves no reads. */
async function createIndexes(client: Client, indexes: readonly { name: string; text: string }[]): Promise<number> {
  for (const { name, text } of indexes) {
    const result = await client.query<{ valid: boolean }>(
      'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
      [name],
    );
    const [index] = result.rows;
    if (index?.valid === true) continue;
    if (index !== undefined) await client.query(`drop index concurrently ${name}`);
    await client.query(text);
  }
  return indexes.length;
}
