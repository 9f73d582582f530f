import { join } from 'node:path';
import sql, { join as joinSql, raw } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { createTestDatabase, testDatabase } from '../../../test/support/database.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import { isOutcomeUnknown, isUnavailable, isUniqueViolation } from './database-error.ts';
import { openDatabase } from './open-database.ts';

const db = testDatabase({ migrated: false });

const backendPid = sql`select pg_backend_pid() as pid`;

test('values keep their whole precision on the way there and back', async () => {
  const row = await db.database.one(sql`
    select ${9_007_199_254_740_993n}::int8 as big, ${[1n, 2n]}::int8[] as bigs, count(*) as counted,
      1.10::numeric as amount, array[1.10, null]::numeric[] as amounts, date '2020-02-29' as day,
      ${new Date(1_700_000_000_123)}::timestamptz as at, ${Buffer.from('00ff', 'hex')}::bytea as bytes`);
  expect(row).toEqual({
    big: 9_007_199_254_740_993n,
    bigs: [1n, 2n],
    counted: 1n,
    amount: '1.10',
    amounts: ['1.10', null],
    day: '2020-02-29',
    at: new Date(1_700_000_000_123),
    bytes: Buffer.from('00ff', 'hex'),
  });
});

test('one and maybe treat a wrong number of rows as a bug', async () => {
  const rows = (count: number) => sql`select n from generate_series(1, ${count}::int4) as n`;
  await expect(db.database.one(rows(0))).rejects.toThrow('expected one row, got 0');
  await expect(db.database.one(rows(2))).rejects.toThrow('expected one row, got 2');
  await expect(db.database.maybe(rows(2))).rejects.toThrow('expected at most one row, got 2');
  expect(await db.database.maybe(rows(0))).toBeNull();
  expect(await db.database.maybe(rows(1))).toEqual({ n: 1 });
});

test('run counts the rows touched', async () => {
  await db.database.run(sql`create table counted (n int4)`);
  expect(await db.database.run(sql`insert into counted select generate_series(1, 7)`)).toBe(7);
  expect(await db.database.run(sql`delete from counted where n > 9`)).toBe(0);
});

test('an undefined value is refused instead of being stored as null', async () => {
  await expect(db.database.rows(sql`select ${undefined}::text`)).rejects.toThrow('undefined value');
});

test('the same text is prepared once per connection, whatever its values', async () => {
  const count = await db.database.transaction(async (tx) => {
    for (const value of [1, 2, 3]) await tx.one(sql`select ${value}::int4 as only_here`);
    return tx.one(sql`select count(*) as n from pg_prepared_statements where statement like '%as only_here'`);
  });
  expect(count).toEqual({ n: 1n });
});

test('a broken constraint does not cost the connection', async () => {
  const one = await openDatabase({ url: db.url, poolSize: 1 });
  await one.run(sql`create table once (n int4 primary key)`);
  const before = await one.one(backendPid);
  for (const attempt of [1, 2]) {
    const write = one.run(sql`insert into once values (1)`);
    if (attempt === 1) await write;
    else await expect(write).rejects.toSatisfy((error) => isUniqueViolation(error, 'once_pkey'));
  }
  await expect(one.transaction((tx) => tx.run(sql`insert into once values (1)`))).rejects.toSatisfy(isUniqueViolation);
  expect(await one.one(backendPid)).toEqual(before);
  await one.close();
});

test('a query whose columns changed under it fails once, not for ever', async () => {
  const one = await openDatabase({ url: db.url, poolSize: 1 });
  await one.run(sql`create table widened (a int4)`);
  const all = sql`select * from widened`;
  await one.rows(all);
  await db.database.run(sql`alter table widened add column b int4`);
  await expect(one.rows(all)).rejects.toMatchObject({ code: '0A000' });
  expect(await one.rows(all)).toEqual([]);
  await one.close();
});

test('a killed connection is an unavailable database with unknown outcome, and the next query works', async () => {
  const kill = sql`select pg_terminate_backend(pg_backend_pid())`;
  const failed = await db.database.rows(kill).catch((error: unknown) => error);
  expect(isUnavailable(failed)).toBe(true);
  expect(isOutcomeUnknown(failed)).toBe(true);
  expect(await db.database.one(sql`select 1 as n`)).toEqual({ n: 1 });
});

test('a statement longer than the limit is ended by the server', async () => {
  const hurried = await openDatabase({ url: db.url, statementTimeoutMs: 500 });
  await expect(hurried.rows(sql`select pg_sleep(20)`)).rejects.toMatchObject({ code: '57014' });
  await hurried.close();
});

test('a pool with nothing free for too long is an unavailable database', async () => {
  const one = await openDatabase({ url: db.url, poolSize: 1, connectTimeoutMs: 1_000 });
  const free = Promise.withResolvers<void>();
  const busy = one.transaction(() => free.promise);
  await expect(one.rows(backendPid)).rejects.toSatisfy((error) => isUnavailable(error) && !isOutcomeUnknown(error));
  free.resolve();
  await busy;
  await one.close();
});

test('an absent server is an unavailable database, with nothing done', async () => {
  const nowhere = `postgres://nobody@localhost:5432/none?host=${encodeURIComponent(join('/tmp', 'no-such-folder'))}`;
  for (const url of [nowhere, 'postgres://nobody@127.0.0.1:1/none'])
    await expect(openDatabase({ url })).rejects.toSatisfy((error) => isUnavailable(error) && !isOutcomeUnknown(error));
});

test('a server that may lose acknowledged commits is refused by the name of the setting', async () => {
  const unsafe = await createTestDatabase({ migrated: false });
  const name = new URL(unsafe.url).pathname.slice(1);
  await onServer(unsafe.url, `alter database ${name} set synchronous_commit = off`);
  await expect(openDatabase({ url: unsafe.url })).rejects.toThrow('synchronous_commit is off');
  await (await openDatabase({ url: unsafe.url, allowUnsafe: true })).close();
  await unsafe.drop();
});

test('a closed database says so', async () => {
  const closing = await openDatabase({ url: db.url });
  const running = closing.one(sql`select 1 as n ${raw(', pg_sleep(0.05)')}`);
  await Promise.all([running, closing.close(), closing.close()]);
  await expect(closing.rows(backendPid)).rejects.toThrow('closed');
  await expect(closing.withAdvisoryLock('key', async () => {})).rejects.toThrow('closed');
});

// This must be the last test here, because it uses up the names of prepared statements.
test('texts without end do not pile up prepared statements', async () => {
  const most = await db.database.transaction(async (tx) => {
    for (let length = 1; length <= 600; length += 1)
      await tx.rows(sql`select 1 where 1 in (${joinSql(Array.from({ length }, (_, index) => index))})`);
    return tx.one<{ n: bigint }>(sql`select count(*) as n from pg_prepared_statements`);
  });
  expect(Number(most.n)).toBeLessThanOrEqual(500);
});
