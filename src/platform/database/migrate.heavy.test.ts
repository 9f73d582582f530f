import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql, { raw } from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { systemRandom } from '../random.ts';
import { lockKey } from './advisory-locks.ts';
import { RightsMissing } from './applied-migrations.ts';
import { connectClient } from './connection.ts';
import { migrate, migrationsComplete, migrationsSuffice, pendingMigrations } from './migrate.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;

beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-migrations-'));
});

afterEach(async () => {
  await db.drop();
  await rm(folder, { recursive: true });
});

const write = (name: string, text: string) => writeFile(join(folder, name), text);

test('files are applied in order, once, and the rest is known as pending', async () => {
  await write('0001-first.sql', 'create table a (n int4); insert into a values (1);');
  expect((await pendingMigrations(db.database, folder)).map(({ name }) => name)).toEqual(['0001-first']);
  expect(await migrationsComplete(db.database, folder)).toBe(false);
  expect(await migrate(db.url, folder)).toEqual(['0001-first']);
  await write('0002-second.sql', 'update a set n = n + 1;');
  await write('0003-third.sql', '-- nothing yet\n');
  expect(await migrationsComplete(db.database, folder)).toBe(false);
  expect(await migrate(db.url, folder)).toEqual(['0002-second', '0003-third']);
  expect(await migrate(db.url, folder)).toEqual([]);
  expect(await migrationsComplete(db.database, folder)).toBe(true);
  expect(await db.database.rows(sql`select n from a`)).toEqual([{ n: 2 }]);
});

test('processes that start at once apply each file once', async () => {
  await write('0001-slow.sql', 'select pg_sleep(0.2); create table a (n int4);');
  await write('0002-row.sql', 'insert into a values (1);');
  const applied = await Promise.all([1, 2, 3].map(() => migrate(db.url, folder)));
  expect(applied.flat()).toEqual(['0001-slow', '0002-row']);
  expect(await db.database.rows(sql`select n from a`)).toEqual([{ n: 1 }]);
});

test('a file that fails leaves nothing of itself and keeps what came before', async () => {
  await write('0001-good.sql', 'create table a (n int4);');
  await write('0002-bad.sql', 'create table b (n int4); select 1 / 0;');
  await expect(migrate(db.url, folder)).rejects.toThrow('migration 0002-bad failed: division by zero');
  expect((await pendingMigrations(db.database, folder)).map(({ name }) => name)).toEqual(['0002-bad']);
  expect(await db.database.one(sql`select to_regclass('a') is null as a, to_regclass('b') is null as b`)).toEqual({
    a: false,
    b: true,
  });
});

test('a changed file is refused by name', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await migrate(db.url, folder);
  await write('0001-first.sql', 'create table a (n int8);');
  await expect(migrate(db.url, folder)).rejects.toThrow('0001-first was changed after it was applied');
  await expect(pendingMigrations(db.database, folder)).rejects.toThrow('0001-first was changed');
  expect(await migrationsComplete(db.database, folder)).toBe(false);
});

test('a database ahead of the code is refused by the name of what is unknown', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await write('0002-newer.sql', 'create table b (n int4);');
  await migrate(db.url, folder);
  await rm(join(folder, '0002-newer.sql'));
  await expect(migrate(db.url, folder)).rejects.toThrow('ahead of this code: migration 0002-newer');
  expect(await migrationsComplete(db.database, folder)).toBe(false);
  // Running processes continue, because newer migrations only add.
  expect(await migrationsSuffice(db.database, folder)).toBe(true);
});

test('a gap, a duplicate number and a misnamed file are refused before anything runs', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await write('0003-third.sql', '');
  await expect(migrate(db.url, folder)).rejects.toThrow('migration 0002 is missing');
  await write('0002-one.sql', '');
  await write('0002-two.sql', '');
  await expect(migrate(db.url, folder)).rejects.toThrow('two migrations');
  await rm(join(folder, '0002-two.sql'));
  await write('4_other.sql', '');
  await expect(migrate(db.url, folder)).rejects.toThrow('4_other.sql');
  expect(await db.database.one(sql`select to_regclass('a') is null as none`)).toEqual({ none: true });
});

test('a file that ends its transaction itself is refused', async () => {
  await write('0001-commits.sql', 'create table a (n int4); commit;');
  await expect(migrate(db.url, folder)).rejects.toThrow('must not begin or end transactions');
});

const COMPATIBLE = '-- compatible: older code\n';

test('code that does not know a compatible migration starts on its tables, and one that is not compatible ends that', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await write('0002-newer.sql', `${COMPATIBLE}create table b (n int4);`);
  await write(
    '0003-steps.sql',
    `${COMPATIBLE}create table c (n int4);\n-- concurrently\ncreate index concurrently a_n on a (n);`,
  );
  expect(await migrate(db.url, folder)).toEqual(['0001-first', '0002-newer', '0003-steps']);
  expect(await migrate(db.url, folder)).toEqual([]);
  // Older versions read only schema_migrations, and reject unknown names there.
  expect(await db.database.rows(sql`select number from schema_migrations`)).toEqual([{ number: 1 }]);
  await rm(join(folder, '0003-steps.sql'));
  await rm(join(folder, '0002-newer.sql'));
  expect(await migrate(db.url, folder)).toEqual([]);
  expect(await pendingMigrations(db.database, folder)).toEqual([]);
  expect(await migrationsComplete(db.database, folder)).toBe(true);
  expect(await migrationsSuffice(db.database, folder)).toBe(true);
});

test('a migration that is not compatible bars code that does not know it, also behind a compatible one', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await write('0002-newer.sql', `${COMPATIBLE}create table b (n int4);`);
  await write('0003-newest.sql', 'drop table b;');
  await migrate(db.url, folder);
  await rm(join(folder, '0003-newest.sql'));
  await expect(migrate(db.url, folder)).rejects.toThrow('ahead of this code: migration 0003-newest');
  expect(await migrationsComplete(db.database, folder)).toBe(false);
  await write('0002-newer.sql', `${COMPATIBLE}create table d (n int4);`);
  await expect(migrate(db.url, folder)).rejects.toThrow('0002-newer was changed after it was applied');
});

test.each(['\n-- compatible: older code\n', '-- compatible: all code\n', '--compatible: older code\n'])(
  'what only looks like the word for compatible is refused: %j',
  async (text) => {
    await write('0001-first.sql', text);
    await expect(migrate(db.url, folder)).rejects.toThrow('"-- compatible: older code" may only be the first line');
  },
);

test('a start with nothing to apply waits for no migration that is under way', async () => {
  await write('0001-first.sql', 'create table a (n int4);');
  await migrate(db.url, folder);
  const other = await connectClient({ url: db.url, statementTimeoutMs: 0 });
  await other.query('select pg_advisory_lock($1::int8)', [lockKey('migration', 'schema_migrations')]);
  expect(await migrate(db.url, folder)).toEqual([]);
  await other.end();
});

describe('a role that owns nothing', () => {
  const role = `migrate_${systemRandom.bytes(6).toString('hex')}`;
  let roleUrl: string;

  beforeEach(async () => {
    await db.database.run(sql`${raw(`create role ${role} login password 'only-for-a-test'`)}`);
    roleUrl = Object.assign(new URL(db.url), { username: role, password: 'only-for-a-test' }).href;
    await write('0001-first.sql', 'create table a (n int4);');
  });
  afterEach(async () => {
    await db.database.run(sql`${raw(`drop owned by ${role}`)}`);
    await db.database.run(sql`${raw(`drop role ${role}`)}`);
  });

  test('is told what waits, who has to apply it, and what it may not read afterwards; with its rights it starts', async () => {
    await expect(migrate(roleUrl, folder)).rejects.toThrow(
      `migrations wait (0001-first), and the role "${role}" may not change the tables: a role that may create tables has to do it`,
    );
    await migrate(db.url, folder);
    await expect(migrate(roleUrl, folder)).rejects.toThrow(
      `the role "${role}" has no rights yet to tables: a, compatible_migrations, schema_migrations`,
    );
    const rights = [`grant select on all tables in schema public to ${role}`];
    await expect(migrate(roleUrl, folder, undefined, rights)).rejects.toThrow(RightsMissing);
    expect(await migrate(db.url, folder, undefined, rights)).toEqual([]);
    expect(await migrate(roleUrl, folder)).toEqual([]);

    await write('0002-second.sql', `${COMPATIBLE}create table b (n int4);`);
    const { owner } = await db.database.one<{ owner: string }>(sql`select current_user::text as owner`);
    await expect(migrate(roleUrl, folder)).rejects.toThrow(`their owner, "${owner}", has to do it`);
    await migrate(db.url, folder);
    await expect(migrate(roleUrl, folder)).rejects.toThrow('no rights yet to tables: b');
    // The previous version needs no rights to new tables.
    await rm(join(folder, '0002-second.sql'));
    expect(await migrate(roleUrl, folder)).toEqual([]);
  });

  test('gets no rights half: none where one of them cannot be given', async () => {
    const rights = [`grant select on a to ${role}`, `grant select on a to no_such_role`];
    await expect(migrate(db.url, folder, undefined, rights)).rejects.toThrow(
      'the migrations are applied, but no rights were granted: role "no_such_role" does not exist',
    );
    expect(await db.database.one(sql`select has_table_privilege(${role}::text, 'a', 'select') as may`)).toEqual({
      may: false,
    });
  });
});
