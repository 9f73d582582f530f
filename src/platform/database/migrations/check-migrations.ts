import sql from 'sql-template-tag';
import type { Queryable } from '../database.ts';
import { pendingMigrations } from '../migrate.ts';
import { type Judgement, judgeStatement, type Made, type Verdict } from './judge-statement.ts';
import { type Migration, readSteps, type Step, splitStatements } from './migration-files.ts';

export interface CheckedStatement extends Judgement {
  kind: Step['kind'];
  statement: string;
  /** Of the table it touches, as PostgreSQL estimates them. */
  rows: number | null;
  bytes: number | null;
}

export interface CheckedMigration {
  name: string;
  /** The version before starts on its tables. */
  compatible: boolean;
  /** The worst of its statements. */
  verdict: Verdict;
  statements: CheckedStatement[];
}

const ORDER: readonly Verdict[] = ['additive', 'look', 'refused'];

export function worstOf(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((worst, one) => (ORDER.indexOf(one) > ORDER.indexOf(worst) ? one : worst), 'additive');
}

interface Size {
  rows: number;
  bytes: number;
}

/** What the migrations that this database lacks would do, and whether the code before may go on writing meanwhile. Changes nothing. */
export async function checkMigrations(database: Queryable, folder: string): Promise<CheckedMigration[]> {
  return judgeMigrations(await pendingMigrations(database, folder), await readSizes(database));
}

/** In their order: what one has made, the next may change. */
export function judgeMigrations(
  migrations: readonly Migration[],
  sizes: ReadonlyMap<string, Size> = new Map(),
): CheckedMigration[] {
  const made: Made = { tables: new Set(), functions: new Set() };
  return migrations.map((migration) => judgeMigration(migration, made, sizes));
}

function judgeMigration(
  { name, text, compatible }: Migration,
  made: Made,
  sizes: ReadonlyMap<string, Size>,
): CheckedMigration {
  const statements = readSteps(text).flatMap((step) =>
    statementsOf(step).map((statement) => {
      const judged = judgeStatement(statement, step.kind, made);
      const size = judged.table === null ? undefined : sizes.get(judged.table);
      return { kind: step.kind, statement, ...judged, rows: size?.rows ?? null, bytes: size?.bytes ?? null };
    }),
  );
  return { name, compatible, verdict: worstOf(statements.map(({ verdict }) => verdict)), statements };
}

function statementsOf(step: Step): string[] {
  if (step.kind === 'concurrently') return step.indexes.map(({ text }) => text);
  return splitStatements(step.text);
}

async function readSizes(database: Queryable): Promise<Map<string, Size>> {
  const rows = await database.rows<{ name: string; rows: number; bytes: bigint }>(sql`
    select relname as name, greatest(reltuples, 0)::float8 as rows, pg_total_relation_size(oid) as bytes
    from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`);
  return new Map(rows.map(({ name, rows: count, bytes }) => [name, { rows: count, bytes: Number(bytes) }]));
}
