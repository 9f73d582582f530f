import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { takeLeaks } from './canary.ts';
import { tablesWithSecrets } from './canary-database.ts';
import { onServer } from './run-postgres.ts';

const CITY_MIGRATIONS = fileURLToPath(new URL('../../migrations/city', import.meta.url));

export interface TestDatabase {
  /** For a second opener, for example a child process. */
  readonly url: string;
  readonly database: Database;
}

export interface TestDatabaseOptions {
  /** False for a database without any table. */
  migrated?: boolean;
  /** Whose tables; the market's when left out. */
  site?: 'market' | 'city';
  poolSize?: number;
  /** Events may tell of what is not in the books: for tests of the log itself, and of pages that show it. */
  inventedEvents?: true;
}

/** A fresh database on the shared server of this test run. Drop it when done: then it is searched for secrets (W3). */
export async function createTestDatabase(
  options: TestDatabaseOptions = {},
): Promise<TestDatabase & { drop(): Promise<void> }> {
  const { adminUrl, template, templateError } = inject('testPostgres');
  const isCity = options.site === 'city';
  const migrated = (options.migrated ?? true) && !isCity;
  if (migrated && templateError !== null) throw new Error(`the migrations failed: ${templateError}`);
  const name = `openaisle_test_${systemRandom.bytes(8).toString('hex')}`;
  await onServer(adminUrl, `create database ${name} encoding 'UTF8' template ${migrated ? template : 'template0'}`);
  const address = new URL(adminUrl);
  address.pathname = `/${name}`;
  if (isCity) await migrate(address.href, CITY_MIGRATIONS);
  if (options.inventedEvents === true)
    await onServer(address.href, 'alter table events disable trigger events_tell_of_the_books');
  // A server given from outside may be tuned for speed; test data need not survive it.
  const database = await openDatabase({ url: address.href, poolSize: options.poolSize ?? 8, allowUnsafe: true });
  return {
    url: address.href,
    database,
    drop: async () => {
      await database.close();
      const tables = await tablesWithSecrets(address.href).finally(() =>
        onServer(adminUrl, `drop database ${name} with (force)`),
      );
      const leaks = [...takeLeaks(), ...tables.map((table) => `the table ${table}`)];
      if (leaks.length > 0) throw new Error(`${expect.getState().testPath}: a secret got into ${leaks.join(', ')}`);
    },
  };
}

/** One fresh database for all tests of a file (or of a `describe`), made before the first and dropped after the last. */
export function testDatabase(options: TestDatabaseOptions = {}): TestDatabase {
  let made: Awaited<ReturnType<typeof createTestDatabase>> | null = null;
  beforeAll(async () => {
    made = await createTestDatabase(options);
  });
  afterAll(async () => {
    await made?.drop();
  });
  const current = (): TestDatabase => {
    if (made === null) throw new Error('the test database exists only while tests run');
    return made;
  };
  return {
    get url() {
      return current().url;
    },
    get database() {
      return current().database;
    },
  };
}
