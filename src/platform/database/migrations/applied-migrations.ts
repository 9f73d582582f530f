import sql, { type Sql } from 'sql-template-tag';
import type { Migration } from '../migration-files.ts';

export interface AppliedMigration {
  number: number;
  name: string;
  sha256: Buffer;
  /** Code that does not know it goes on, and starts, on its tables. */
  compatible: boolean;
}

/** All rows that a query gives, of a pool or of one connection. */
export type ReadRows = <Row extends object>(query: Sql) => Promise<Row[]>;

const COLUMNS = `(
  number int4 primary key,
  name text not null,
  sha256 bytea not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

export const CREATE_MIGRATIONS = `create table schema_migrations ${COLUMNS}`;
/** A table apart: versions before it do not start where schema_migrations names what they do not know, and do not look here. */
export const CREATE_COMPATIBLE = `create table if not exists compatible_migrations ${COLUMNS}`;

/** Where it is noted once it is applied. */
export const tableOf = ({ compatible }: Migration): string =>
  compatible ? 'compatible_migrations' : 'schema_migrations';

/** In their order; null where there is no table of them yet. What this role may not read is left out: see `checkMayRead`. */
export async function readApplied(rows: ReadRows): Promise<AppliedMigration[] | null> {
  const [may] = await rows<{ all: boolean | null; compatible: boolean | null }>(sql`
    select has_table_privilege(to_regclass('schema_migrations'), 'select') as all,
      has_table_privilege(to_regclass('compatible_migrations'), 'select') as compatible`);
  if (may?.all === undefined || may.all === null) return null;
  if (!may.all) return [];
  if (may.compatible !== true)
    return rows(sql`select number, name, sha256, false as compatible from schema_migrations order by number`);
  return rows(sql`
    select number, name, sha256, false as compatible from schema_migrations
    union all select number, name, sha256, true from compatible_migrations order by number`);
}

/** Why this code must not work on such a database, or null. */
export function findMismatch(applied: readonly AppliedMigration[], migrations: readonly Migration[]): string | null {
  for (const [index, { number, name, sha256, compatible }] of applied.entries()) {
    if (number !== index + 1) return `schema_migrations lacks number ${index + 1}: rows of it were removed`;
    const known = migrations[index];
    if (known === undefined && !compatible)
      return `the database is ahead of this code: migration ${name} is applied and unknown here; run the newer version`;
    if (known !== undefined && !known.sha256.equals(sha256))
      return `migration ${known.name} was changed after it was applied (as ${name}): restore its text and add a new file`;
  }
  return null;
}
