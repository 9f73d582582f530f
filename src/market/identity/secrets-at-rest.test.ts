import sql, { raw } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { registerCaller } from '../../../test/support/identity-doors.ts';
import { marketContext } from '../../../test/support/market-context.ts';

const db = testDatabase();

/** Returns every row of every table as text, with bytea columns decoded. */
async function readAllRows(): Promise<string> {
  const columns = await db.database.rows<{ name: string; column: string; type: string }>(sql`
    select format('%I', table_name) as name, format('%I', column_name) as column, udt_name as type
    from information_schema.columns where table_schema = 'public' order by 1, 2`);
  expect(columns.map(({ name }) => name)).toContain('identity_stages');
  const parts: string[] = [];
  for (const { name, column, type } of columns) {
    const text =
      type === 'bytea'
        ? `encode(${column}, 'escape')`
        : type === '_bytea'
          ? `(select string_agg(encode(one, 'escape'), ' ') from unnest(${column}) one)`
          : `${column}::text`;
    const rows = await db.database.rows<{ stored: string | null }>(
      sql`select ${raw(text)} as stored from ${raw(name)}`,
    );
    parts.push(...rows.map(({ stored }) => stored ?? ''));
  }
  return parts.join('\n');
}

test('neither key nor codes nor session nor csrf are anywhere in the database, staged or confirmed', async () => {
  const door = registerCaller(marketContext({ database: db.database }));
  const confirmed = await door.stage('confirmed');
  const open = await door.stage('staged-only');
  await door.confirm(confirmed);
  const stored = await readAllRows();
  // Proves that the scan sees what is stored.
  expect(stored).toContain('staged-only');
  expect(stored).toContain('"kind":"register"');
  for (const { merchant_key, recovery_codes, session, csrf } of [confirmed, open]) {
    const secretParts = [merchant_key, ...recovery_codes].map((secret) => secret.slice('aisle_sk_'.length));
    for (const secret of [...secretParts, session, csrf]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(Buffer.from(secret).toString('hex'));
    }
  }
});
