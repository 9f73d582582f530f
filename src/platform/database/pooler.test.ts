import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { type PostgresPooler, startPostgresPooler } from '../../../test/support/postgres-pooler.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import { openDatabase } from './open-database.ts';

const db = testDatabase({ migrated: false });

let pooler: PostgresPooler | null = null;
afterEach(() => pooler?.close());

test('through a pooler of sessions the time limits hold, and so do locks', async () => {
  pooler = await startPostgresPooler(db.url, { mode: 'session', size: 4 });
  const database = await openDatabase({ url: pooler.url, poolSize: 2, statementTimeoutMs: 400, allowUnsafe: true });
  const settings = ['statement_timeout', 'idle_in_transaction_session_timeout', 'timezone', 'client_min_messages'];
  const inForce = await database.rows(
    sql`select name, setting from pg_settings where lower(name) = any(${settings}) order by lower(name)`,
  );
  expect(inForce).toEqual([
    { name: 'client_min_messages', setting: 'warning' },
    { name: 'idle_in_transaction_session_timeout', setting: '30000' },
    { name: 'statement_timeout', setting: '400' },
    { name: 'TimeZone', setting: 'UTC' },
  ]);
  await expect(database.rows(sql`select pg_sleep(20)`)).rejects.toMatchObject({ code: '57014' });
  const inside = await database.withAdvisoryLock('lead', () =>
    db.database.one(sql`select count(*)::int4 as n from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`),
  );
  expect(inside).toEqual({ value: { n: 1 } });
  await database.close();
});

test('no limit is none, whatever the database has', async () => {
  const name = new URL(db.url).pathname.slice(1);
  await onServer(db.url, `alter database ${name} set statement_timeout = 10`);
  const database = await openDatabase({ url: db.url, poolSize: 1, statementTimeoutMs: 0, allowUnsafe: true });
  expect(await database.one(sql`show statement_timeout`)).toEqual({ statement_timeout: '0' });
  await database.close();
});
