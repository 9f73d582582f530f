import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { openDatabase } from './open-database.ts';

const db = testDatabase({ migrated: false });

/** Holds the key until `free` is called. */
async function hold(database: typeof db.database, key: string) {
  const entered = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<string>();
  const done = database.withAdvisoryLock(key, (lost) => {
    entered.resolve(lost);
    return end.promise;
  });
  const lost = await entered.promise;
  return { lost, done, free: () => end.resolve('done') };
}

async function countSessions(): Promise<bigint> {
  const { n } = await db.database.one<{ n: bigint }>(
    sql`select count(distinct pid) as n from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`,
  );
  return n;
}

test('a key is held once within a process and once across processes', async () => {
  const other = await openDatabase({ url: db.url });
  const first = await hold(db.database, 'sequencer');
  expect(await db.database.withAdvisoryLock('sequencer', async () => 'second')).toBeNull();
  expect(await other.withAdvisoryLock('sequencer', async () => 'second')).toBeNull();
  expect(await other.withAdvisoryLock('reconciler', async () => 'other key')).toEqual({ value: 'other key' });
  first.free();
  expect(await first.done).toEqual({ value: 'done' });
  expect(await other.withAdvisoryLock('sequencer', async () => 'now free')).toEqual({ value: 'now free' });
  await other.close();
});

test('an act that throws gives the key back', async () => {
  const failing = db.database.withAdvisoryLock('failing', async () => {
    throw new Error('broken');
  });
  await expect(failing).rejects.toThrow('broken');
  expect(await db.database.withAdvisoryLock('failing', async () => 1)).toEqual({ value: 1 });
});

test('many keys are held on one connection, and none of the pool is used up', async () => {
  const small = await openDatabase({ url: db.url, poolSize: 1 });
  const holds = await Promise.all(Array.from({ length: 30 }, (_, index) => hold(small, `key ${index}`)));
  expect(await countSessions()).toBe(1n);
  expect(await small.one(sql`select 1 as n`)).toEqual({ n: 1 });
  for (const { free } of holds) free();
  await Promise.all(holds.map(({ done }) => done));
  expect(await countSessions()).toBe(0n);
  await small.close();
});

test('the database is open to an exclusive act, and a transaction lock of the same name is another lock', async () => {
  const inside = await db.database.withAdvisoryLock('same name', () =>
    db.database.transaction(async (tx) => {
      await tx.lock('same name');
      return tx.one(sql`select 1 as n`);
    }),
  );
  expect(inside).toEqual({ value: { n: 1 } });
});

test('a killed session frees the key for others, tells the holder, and the next act connects again', async () => {
  const other = await openDatabase({ url: db.url });
  const first = await hold(db.database, 'fragile');
  const told = new Promise((resolve) => first.lost.addEventListener('abort', resolve));
  await other.rows(sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())`);
  await told;
  expect(await other.withAdvisoryLock('fragile', async () => 'taken over')).toEqual({ value: 'taken over' });
  // The first act is still running in this process, so the key stays taken here until the act ends.
  expect(await db.database.withAdvisoryLock('fragile', async () => 'again')).toBeNull();
  first.free();
  expect(await first.done).toEqual({ value: 'done' });
  expect(await db.database.withAdvisoryLock('fragile', async () => 'again')).toEqual({ value: 'again' });
  await other.close();
});

test('closing the database gives every key back', async () => {
  const closing = await openDatabase({ url: db.url });
  const first = await hold(closing, 'left behind');
  await closing.close();
  await expect.poll(() => db.database.withAdvisoryLock('left behind', async () => 1)).toEqual({ value: 1 });
  first.free();
  await first.done;
});
