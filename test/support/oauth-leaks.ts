import sql, { raw } from 'sql-template-tag';
import type { Database } from '../../src/platform/database/database.ts';

/** Every row of every table, as text; bytes in it are spelled in hex. By table. */
export async function dumpTables(database: Database): Promise<Map<string, string[]>> {
  const tables = await database.rows<{ name: string }>(sql`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind in ('r', 'p', 'm') and c.relnamespace::regnamespace::text !~ '^(?:pg_|information_schema$)'`);
  const dump = new Map<string, string[]>();
  for (const { name } of tables) {
    const rows = await database.rows<{ text: string }>(sql`select t::text as text from ${raw(name)} t`);
    dump.set(
      name,
      rows.map(({ text }) => text),
    );
  }
  return dump;
}

/** The tables in which one of those stands, in whatever spelling. */
export function tablesThatHold(dump: ReadonlyMap<string, readonly string[]>, secrets: readonly string[]): string[] {
  const spelled = secrets.flatMap(spellings);
  return [...dump].flatMap(([name, rows]) =>
    rows.some((row) => spelled.some((secret) => row.includes(secret))) ? [name] : [],
  );
}

export function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
}
