import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { testDatabase } from './database.ts';
import { createKillSwitch, type KillPostgres, startKillPostgres, type Trap } from './kill-postgres.ts';

const straight = testDatabase({ migrated: false });
const trap = createKillSwitch();
let wire: KillPostgres;
let database: Database;
let kills: number;

beforeAll(async () => {
  wire = await startKillPostgres(straight.url, trap);
  await straight.database.run(sql`create table kept (n int8 primary key)`);
});
afterAll(() => wire?.close());
beforeEach(async () => {
  kills = 0;
  database = await openDatabase({ url: wire.url, allowUnsafe: true });
});
afterEach(async () => {
  await database.close();
  await straight.database.run(sql`delete from kept`);
});

const arm = (when: Trap['when'], mark = 'insert into kept'): void =>
  trap.arm({ wire: 'database', when, mark }, () => {
    kills += 1;
  });
const write = (n: bigint): Promise<number> => database.run(sql`insert into kept values (${n})`);
const writeInTransaction = (n: bigint): Promise<unknown> =>
  database.transaction(async (tx) => {
    await tx.run(sql`insert into kept values (${n})`);
    await tx.one(sql`select count(*) as n from kept`);
  });
const kept = async (): Promise<bigint[]> =>
  (await straight.database.rows<{ n: bigint }>(sql`select n from kept order by n`)).map(({ n }) => n);

describe.each([
  ['alone', write],
  ['in a transaction', writeInTransaction],
])('a statement %s', (_, act) => {
  // The second statement on a connection reuses the statement that the first one prepared.
  test.each([1n, 2n])('cut off before it is not done, prepared or not (%s)', async (n) => {
    if (n === 2n) await act(1n);
    arm('before');
    await expect(act(n)).rejects.toThrow('database unavailable');
    expect([await kept(), kills]).toEqual([n === 2n ? [1n] : [], 1]);
  });

  test.each([1n, 2n])('cut off after it is done and was not told, prepared or not (%s)', async (n) => {
    if (n === 2n) await act(1n);
    arm('after');
    await expect(act(n)).rejects.toThrow('outcome unknown');
    expect([await kept(), kills]).toEqual([n === 2n ? [1n, 2n] : [1n], 1]);
  });
});

test('what was handed in together with other statements is met all the same', async () => {
  arm('after');
  const act = database.transaction(async (tx) => {
    tx.later(sql`insert into kept values (7)`);
    await tx.one(sql`select 1 as n`);
  });
  await expect(act).rejects.toThrow('outcome unknown');
  expect([await kept(), kills]).toEqual([[7n], 1]);
});

test('a transaction that is rolled back is not one that is done: the trap waits on', async () => {
  arm('after');
  const failing = database.transaction(async (tx) => {
    await tx.run(sql`insert into kept values (1)`);
    throw new Error('changed its mind');
  });
  await expect(failing).rejects.toThrow('changed its mind');
  await write(2n).catch(() => {});
  expect([await kept(), kills]).toEqual([[2n], 1]);
});

test('other statements pass unchanged', async () => {
  arm('after', 'insert into elsewhere');
  await write(1n);
  await writeInTransaction(2n);
  expect([await kept(), kills]).toEqual([[1n, 2n], 0]);
});
