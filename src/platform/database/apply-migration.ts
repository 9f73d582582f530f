import type { Client } from 'pg';
import { systemClock } from '../clock.ts';
import { tableOf } from './applied-migrations.ts';
import { type Migration, readSteps, type Step } from './migration-files.ts';
import { yieldingTransaction } from './yield-locks.ts';

/** Rows of a step so far, or a transaction that ran against the lock of another and is about to run again. */
export type Progress =
  | { migration: string; step: string; rows: number; done: boolean }
  | { migration: string; attempt: number; reason: string };

export type OnProgress = (progress: Progress) => void;

const REPORT_EVERY_MS = 5_000;

const CREATE_STEPS = `create table if not exists schema_migration_steps (
  number int4 not null,
  step int4 not null,
  sha256 bytea not null,
  done_at timestamptz not null default clock_timestamp(),
  primary key (number, step)
)`;

interface Run {
  client: Client;
  migration: Migration;
  /** Runs one transaction, again if another one holds its locks. */
  transact<T>(act: () => Promise<T>): Promise<T>;
  onProgress: OnProgress;
}

/** Applies one migration. Skips steps that were already recorded. */
export async function applyMigration(client: Client, migration: Migration, onProgress: OnProgress): Promise<void> {
  const { name } = migration;
  const onConflict = (attempt: number, reason: string): void => onProgress({ migration: name, attempt, reason });
  const transact: Run['transact'] = (act) => yieldingTransaction(client, act, onConflict);
  try {
    const steps = readSteps(migration.text);
    const [first] = steps;
    if (steps.length === 1 && first?.kind === 'transaction')
      await transact(async () => {
        await runText(client, first.text);
        await recordMigration(client, migration);
      });
    else await runSteps({ client, migration, transact, onProgress }, steps);
  } catch (error) {
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

async function runSteps(run: Run, steps: readonly Step[]): Promise<void> {
  const { client, migration, transact, onProgress } = run;
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
    if (step.kind === 'transaction')
      await transact(async () => {
        await runText(client, step.text);
        await recordStep(client, migration, index);
      });
    else {
      const rows =
        step.kind === 'fill' ? await runFill(run, step.text, report) : await createIndexes(client, step.indexes);
      await recordStep(client, migration, index);
      report(rows, true);
    }
  }
  await transact(async () => {
    await recordMigration(client, migration);
    await client.query('delete from schema_migration_steps where number = $1', [migration.number]);
  });
}

function stepName(step: Step, index: number): string {
  if (step.kind === 'fill') return `fill ${step.name}`;
  return step.kind === 'concurrently' ? step.indexes.map(({ name }) => name).join(', ') : `part ${index + 1}`;
}

async function runText(client: Client, text: string): Promise<void> {
  await client.query(text);
  if (client.getTransactionStatus() !== 'T') throw new Error('it must not begin or end transactions itself');
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
async function runFill(
  { client, transact }: Run,
  text: string,
  report: (rows: number, isDone: boolean) => void,
): Promise<number> {
  let rows = 0;
  let reportedAtMs = systemClock.now();
  for (;;) {
    const { rowCount } = await transact(() => client.query(text));
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
