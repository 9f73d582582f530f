import type { Client } from 'pg';
import { systemClock } from '../../clock.ts';
import type { Migration } from '../migration-files.ts';
import { tableOf } from './applied-migrations.ts';
import { readSteps, type Step } from './read-steps.ts';

/** Said of what takes long: at the end of a step, and meanwhile every few seconds. */
export interface Progress {
  migration: string;
  step: string;
  rows: number;
  done: boolean;
}

export type OnProgress = (progress: Progress) => void;

const SAY_EVERY_MS = 5_000;

const CREATE_TABLE = `create table if not exists schema_migration_steps (
  number int4 not null,
  step int4 not null,
  sha256 bytea not null,
  done_at timestamptz not null default clock_timestamp(),
  primary key (number, step)
)`;

/** Applies one migration. What was done of it before a kill is not done again. */
export async function applyMigration(client: Client, migration: Migration, onProgress: OnProgress): Promise<void> {
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
  await client.query(CREATE_TABLE);
  const done = await client.query<{ step: number; sha256: Buffer }>(
    'select step, sha256 from schema_migration_steps where number = $1 order by step',
    [migration.number],
  );
  if (done.rows.some(({ sha256 }) => !sha256.equals(migration.sha256)))
    throw new Error('it was changed after a part of it was applied: restore its text');
  for (const [index, step] of steps.entries()) {
    if (index < done.rows.length) continue;
    const say = (rows: number, isDone: boolean): void =>
      onProgress({ migration: migration.name, step: nameOf(step, index), rows, done: isDone });
    if (step.kind === 'transaction') await inTransaction(client, step.text, migration, index);
    else {
      const rows = step.kind === 'fill' ? await fill(client, step.text, say) : await makeIndexes(client, step.indexes);
      await note(client, migration, index);
      say(rows, true);
    }
  }
  await client.query('begin');
  await complete(client, migration);
  await client.query('delete from schema_migration_steps where number = $1', [migration.number]);
  await client.query('commit');
}

function nameOf(step: Step, index: number): string {
  if (step.kind === 'fill') return `fill ${step.name}`;
  return step.kind === 'concurrently' ? step.indexes.map(({ name }) => name).join(', ') : `part ${index + 1}`;
}

/** Together with the note that it is done: of a part, or of the whole migration. */
async function inTransaction(client: Client, text: string, migration: Migration, part?: number): Promise<void> {
  await client.query('begin');
  await client.query(text);
  if (client.getTransactionStatus() !== 'T') throw new Error('it must not begin or end transactions itself');
  await (part === undefined ? complete(client, migration) : note(client, migration, part));
  await client.query('commit');
}

async function note(client: Client, { number, sha256 }: Migration, step: number): Promise<void> {
  await client.query('insert into schema_migration_steps (number, step, sha256) values ($1, $2, $3)', [
    number,
    step,
    sha256,
  ]);
}

async function complete(client: Client, migration: Migration): Promise<void> {
  const { number, name, sha256 } = migration;
  await client.query(`insert into ${tableOf(migration)} (number, name, sha256) values ($1, $2, $3)`, [
    number,
    name,
    sha256,
  ]);
}

/** The statement finds by itself what is left to do, so a kill loses one batch at most. */
async function fill(client: Client, text: string, say: (rows: number, isDone: boolean) => void): Promise<number> {
  let rows = 0;
  let saidAtMs = systemClock.now();
  for (;;) {
    const { rowCount } = await client.query(text);
    if (rowCount === null || rowCount === 0) return rows;
    rows += rowCount;
    if (systemClock.now() - saidAtMs < SAY_EVERY_MS) continue;
    saidAtMs = systemClock.now();
    say(rows, false);
  }
}

/** An index whose making was cut off stays behind, is kept up to date and serves nothing: it is made again. */
async function makeIndexes(client: Client, indexes: readonly { name: string; text: string }[]): Promise<number> {
  for (const { name, text } of indexes) {
    const found = await client.query<{ valid: boolean }>(
      'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
      [name],
    );
    const [index] = found.rows;
    if (index?.valid === true) continue;
    if (index !== undefined) await client.query(`drop index concurrently ${name}`);
    await client.query(text);
  }
  return indexes.length;
}
