import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { type PoolerOptions, type PostgresPooler, startPostgresPooler } from '../../../test/support/postgres-pooler.ts';
import { isUnavailable } from './database-error.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

const db = testDatabase({ migrated: false });

let pooler: PostgresPooler | null = null;
afterEach(() => pooler?.close());

async function start(options: PoolerOptions): Promise<string> {
  pooler = await startPostgresPooler(db.url, options);
  return pooler.url;
}

const TRANSACTION = [1, 2, 3].flatMap((size) =>
  (['last', 'first'] as const).map((lends) => ({ mode: 'transaction' as const, size, lends })),
);

test.for(TRANSACTION)(
  'a pooler that lends each transaction one of $size sessions, the $lends first, is refused at the start',
  async (options) => {
    const url = await start(options);
    const error: unknown = await openDatabase({ url }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('the pooler shares PostgreSQL sessions between transactions');
    expect(String(error)).toContain('pool_mode = session');
    // A pooler must not count as an outage, or a service manager would wait for the outage to end.
    expect(isUnavailable(error)).toBe(false);
  },
);

test('migrations are refused before they take a lock that the pooler would keep', async () => {
  const url = await start({ mode: 'transaction', size: 2 });
  await expect(migrate(url, 'migrations/city')).rejects.toThrow('pool_mode = session');
  expect(
    await db.database.rows(sql`select pid from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`),
  ).toEqual([]);
});
