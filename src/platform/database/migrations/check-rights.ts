import sql from 'sql-template-tag';
import type { Migration } from '../migration-files.ts';
import type { ReadRows } from './applied-migrations.ts';

/** The role of this connection lacks the rights that a start needs; the operator has to act first. */
export class RightsMissing extends Error {
  override readonly name = 'RightsMissing';
  readonly role: string;

  constructor(role: string, message: string) {
    super(message);
    this.role = role;
  }
}

/** Throws where this role owns neither the tables nor a place for them, and so may neither apply what waits nor give rights. */
export async function checkMayMigrate(rows: ReadRows, pending: readonly Migration[]): Promise<void> {
  const [found] = await rows<{ role: string; owner: string | null; may: boolean }>(sql`
    select current_user::text as role, pg_get_userbyid(c.relowner)::text as owner,
      has_schema_privilege(current_schema(), 'create') and coalesce(pg_has_role(c.relowner, 'usage'), true) as may
    from (select to_regclass('schema_migrations') as oid) t left join pg_class c on c.oid = t.oid`);
  if (found === undefined || found.may) return;
  const names = pending.map(({ name }) => name).join(', ');
  const waiting = pending.length === 0 ? '' : `migrations wait (${names}), and `;
  const owner = found.owner === null ? 'a role that may create tables has' : `their owner, "${found.owner}", has`;
  throw new RightsMissing(
    found.role,
    `${waiting}the role "${found.role}" may not change the tables: ${owner} to do it`,
  );
}

const SHOWN = 5;

/** Throws where the owner has made tables since this role was given its rights. */
export async function checkMayRead(rows: ReadRows): Promise<void> {
  const hidden = await rows<{ role: string; name: string }>(sql`
    select current_user::text as role, t.relname::text as name
    from pg_class m join pg_class t on t.relowner = m.relowner and t.relnamespace = m.relnamespace
    where m.oid = to_regclass('schema_migrations') and t.relkind in ('r', 'p') and not has_table_privilege(t.oid, 'select')
    order by 2`);
  const [first] = hidden;
  if (first === undefined) return;
  const shown = hidden.slice(0, SHOWN).map(({ name }) => name);
  if (hidden.length > SHOWN) shown.push(`${hidden.length - SHOWN} more`);
  throw new RightsMissing(first.role, `the role "${first.role}" has no rights yet to tables: ${shown.join(', ')}`);
}
