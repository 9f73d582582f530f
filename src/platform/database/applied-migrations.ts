import sql, { type Sql } from 'sql-template-tag';
import type { Migration } from './migration-files.ts';

export interface AppliedMigration {
  number: number;
  name: string;
  sha256: Buffer;
  /** True if older code that does not know the migration may still start. */
  compatible: boolean;
}

export type ReadRows = <Row extends object>(query: Sql) => Promise<Row[]>;

const COLUMNS = `(
  number int4 primary key,
  name text not null,
  sha256 bytea not null,
  applied_at timestamptz not null default clock_timestamp()
)`;

export const CREATE_MIGRATIONS = `create table schema_migrations ${COLUMNS}`;
/**
 * A separate table, because older versions refuse to start if schema_migrations contains an unknown migration, but never read this table.
 */
export const CREATE_COMPATIBLE = `create table if not exists compatible_migrations ${COLUMNS}`;

export const tableOf = ({ compatible }: Migration): string =>
  compatible ? 'compatible_migrations' : 'schema_migrations';

/** Returns null if there is no table of migrations. Leaves out tables that this role may not read; see `checkMayRead`. */
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

/** Returns why this code must not run on the database, or null. */
export function findMismatch(applied: readonly AppliedMigration[], migrations: readonly Migration[]): string | null {
  for (const [index, { number, name, sha256, compatible }] of applied.entries()) {
    if (number !== index + 1) return `schema_migrations lacks number ${index + 1}: rows of it were removed`;
    const migration = migrations[index];
    if (migration === undefined && !compatible)
      return `the database is ahead of this code: migration ${name} is applied and unknown here; run the newer version`;
    if (migration !== undefined && !migration.sha256.equals(sha256))
      return `migration ${migration.name} was changed after it was applied (as ${name}): restore its text and add a new file`;
  }
  return null;
}

/** Thrown if the role lacks rights needed at start, so the operator has to grant them. */
export class RightsMissing extends Error {
  override readonly name = 'RightsMissing';
  readonly role: string;

  constructor(role: string, message: string) {
    super(message);
    this.role = role;
  }
}

/**
 * Throws unless this role may create tables and has the rights of the owner of existing ones, because otherwise it can neither migrate nor
 * grant rights.
 */
export async function checkMayMigrate(rows: ReadRows, pending: readonly Migration[]): Promise<void> {
  const [table] = await rows<{ role: string; owner: string | null; may: boolean }>(sql`
    select current_user::text as role, pg_get_userbyid(c.relowner)::text as owner,
      has_schema_privilege(current_schema(), 'create') and coalesce(pg_has_role(c.relowner, 'usage'), true) as may
    from (select to_regclass('schema_migrations') as oid) t left join pg_class c on c.oid = t.oid`);
  if (table === undefined || table.may) return;
  const names = pending.map(({ name }) => name).join(', ');
  const waiting = pending.length === 0 ? '' : `migrations wait (${names}), and `;
  const owner = table.owner === null ? 'a role that may create tables has' : `their owner, "${table.owner}", has`;
  throw new RightsMissing(
    table.role,
    `${waiting}the role "${table.role}" may not change the tables: ${owner} to do it`,
  );
}

const MAX_LISTED = 5;

/** Throws if this role has no rights to tables that the owner created after granting rights. */
export async function checkMayRead(rows: ReadRows): Promise<void> {
  const hidden = await rows<{ role: string; name: string }>(sql`
    select current_user::text as role, t.relname::text as name
    from pg_class m join pg_class t on t.relowner = m.relowner and t.relnamespace = m.relnamespace
    where m.oid = to_regclass('schema_migrations') and t.relkind in ('r', 'p') and not has_table_privilege(t.oid, 'select')
    order by 2`);
  const [first] = hidden;
  if (first === undefined) return;
  const listed = hidden.slice(0, MAX_LISTED).map(({ name }) => name);
  if (hidden.length > MAX_LISTED) listed.push(`${hidden.length - MAX_LISTED} more`);
  throw new RightsMissing(first.role, `the role "${first.role}" has no rights yet to tables: ${listed.join(', ')}`);
}
