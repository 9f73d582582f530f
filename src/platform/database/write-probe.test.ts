import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { severableDatabase, testDatabase } from '../../../test/support/database.ts';
import { settableClock } from '../../../test/support/market-context.ts';
import { connectClient } from './connection.ts';
import { openDatabase } from './open-database.ts';
import { createWriteProbe } from './write-probe.ts';

const db = testDatabase();
afterEach(() => db.database.run(sql`delete from rate_counters`));

const written = () => db.database.rows(sql`select name, xmin::text as by from rate_counters`);

test('however many ask, one row is written, and no more often than every three seconds', async () => {
  const clock = settableClock(1_000_000);
  const probe = createWriteProbe({ database: db.database, clock });
  expect(await Promise.all(Array.from({ length: 50 }, () => probe.check()))).toEqual(Array(50).fill(null));
  const first = await written();
  expect(first).toMatchObject([{ name: 'write_probe' }]);
  clock.set(1_002_999);
  await probe.check();
  expect(await written()).toEqual(first);
  clock.set(1_003_000);
  await probe.check();
  const second = await written();
  expect(second).toMatchObject([{ name: 'write_probe' }]);
  expect(second).not.toEqual(first);
});

test('what refuses the write is said in a word, and it is looked again after that', async () => {
  const clock = settableClock(1_000_000);
  const probe = createWriteProbe({ database: db.database, clock });
  await db.database.run(sql`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'on purpose' using errcode = 'disk_full'; end $$`);
  await db.database.run(sql`create trigger refuse before insert or update on rate_counters execute function refuse()`);
  expect(await probe.check()).toBe('disk_full');
  await db.database.run(sql`drop trigger refuse on rate_counters`);
  expect(await probe.check()).toBe('disk_full');
  clock.set(1_003_000);
  expect(await probe.check()).toBeNull();
});

test('a server that is away, or does not answer, takes no writes', async () => {
  const severable = await severableDatabase(db.url);
  await severable.sever();
  expect(await createWriteProbe({ database: severable.database, clock: settableClock(0) }).check()).toBe('no_answer');
  await severable.close();
  const probe = createWriteProbe({ database: db.database, clock: settableClock(0) });
  const other = await connectClient({ url: db.url, statementTimeoutMs: 0 });
  await other.query('begin; lock table rate_counters in access exclusive mode');
  expect(await probe.check()).toBe('no_answer');
  await other.end();
  await expect.poll(() => probe.check()).toBeNull();
});

test('what is counted goes through a file: a disk without room is noticed', async () => {
  // This connection may not write temporary files, so the probe fails as it would on a full disk.
  const limited = new URL(db.url);
  limited.searchParams.set('options', '-c temp_file_limit=0');
  const database = await openDatabase({ url: limited.href, poolSize: 1, allowUnsafe: true });
  expect(await createWriteProbe({ database, clock: settableClock(0) }).check()).toBe('out_of_resources');
  await database.close();
});
