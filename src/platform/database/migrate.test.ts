import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
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
  // A process that runs already goes on: what is newer only adds.
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
