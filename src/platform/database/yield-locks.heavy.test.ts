import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import sql, { raw } from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import type { Progress } from './apply-migration.ts';
import { connectClient } from './connection.ts';
import { migrate } from './migrate.ts';
import { YIELDING_ATTEMPTS } from './yield-locks.ts';

const GATE = 4_712;
const TABLES = 'create table a (n int4); create table b (n int4);';
/** Locks a, then b. Other transactions may write to a until the first and to b until the last statement. */
const LOCKING = `lock table a in share row exclusive mode;
select pg_advisory_xact_lock(${GATE});
lock table b in share row exclusive mode;
create table c (n int4);`;

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let folder: string;
let gate: Client;
let request: Client;
let said: Progress[];

beforeEach(async () => {
  db = await createTestDatabase({ migrated: false });
  folder = await mkdtemp(join(tmpdir(), 'openaisle-locks-'));
  await writeFile(join(folder, '0001-tables.sql'), TABLES);
  await migrate(db.url, folder);
  await writeFile(join(folder, '0002-locking.sql'), LOCKING);
  said = [];
});

afterEach(async () => {
  await gate.end();
  await request.end();
  await db.drop();
  await rm(folder, { recursive: true });
});

const connect = (): Promise<Client> => connectClient({ url: db.url, statementTimeoutMs: 0 });

/** Changes a setting of the sessions that begin afterwards, and opens those of the test. */
async function openSessions(setting: string): Promise<void> {
  await db.database.run(sql`${raw(`alter database ${new URL(db.url).pathname.slice(1)} set ${setting}`)}`);
  [gate, request] = await Promise.all([connect(), connect()]);
  await gate.query('select pg_advisory_lock($1)', [GATE]);
  await request.query('begin');
  await request.query('insert into b values (1)');
}

const openGate = () => gate.query('select pg_advisory_unlock($1)', [GATE]);
const startMigration = (): Promise<string[]> => migrate(db.url, folder, (progress) => said.push(progress));

/** Waits until a session of this database waits for such a lock. */
async function untilWaiting(lock: 'advisory' | 'a' | 'b'): Promise<void> {
  const count = sql`select count(*)::int4 as waiting from pg_locks where not granted
    and database = (select oid from pg_database where datname = current_database())
    and coalesce(relation::regclass::text, locktype) = ${lock}`;
  await expect
    .poll(async () => (await db.database.one<{ waiting: number }>(count)).waiting, { interval: 2 })
    .toBeGreaterThan(0);
}

const reasons = (): string[] => said.flatMap((progress) => ('attempt' in progress ? progress.reason : []));

test('a request that waits for a migration, which then waits for the request, goes on; the migration runs again', async () => {
  await openSessions(`deadlock_timeout = '4s'`);
  const migration = startMigration();
  await untilWaiting('advisory');
  const write = request.query('insert into a values (1)');
  await untilWaiting('a');
  await openGate();
  await write;
  await request.query('commit');
  expect(await migration).toEqual(['0002-locking']);
  expect(new Set(reasons())).toEqual(new Set(['canceling statement due to lock timeout']));
});

test('a migration that waits for a request, which then waits for the migration, runs again', async () => {
  await openSessions(`deadlock_timeout = '4s'`);
  await openGate();
  const migration = startMigration();
  await untilWaiting('b');
  await request.query('insert into a values (1)');
  await request.query('commit');
  expect(await migration).toEqual(['0002-locking']);
  expect(new Set(reasons())).toEqual(new Set(['canceling statement due to lock timeout']));
});

test('after its first attempts a migration waits; one that PostgreSQL then cancels for a deadlock runs again', async () => {
  await openSessions(`deadlock_timeout = '20ms'`);
  await request.query(`set deadlock_timeout = '1min'`);
  const migration = startMigration();
  await expect.poll(() => said.length).toBe(YIELDING_ATTEMPTS);
  await untilWaiting('advisory');
  const write = request.query('insert into a values (1)');
  await untilWaiting('a');
  await openGate();
  await write;
  await request.query('commit');
  expect(await migration).toEqual(['0002-locking']);
  expect(reasons().at(-1)).toBe('deadlock detected');
});

test('a migration fails after 20 attempts, and changes nothing', async () => {
  await openSessions(`lock_timeout = '10ms'`);
  await openGate();
  await db.database.run(
    sql`${raw(`alter database ${new URL(db.url).pathname.slice(1)} set deadlock_timeout = '20ms'`)}`,
  );
  await expect(startMigration()).rejects.toThrow(
    'migration 0002-locking failed: canceling statement due to lock timeout, in each of 20 attempts. Nothing was changed',
  );
  expect(said.length).toBe(19);
  expect(await db.database.one(sql`select to_regclass('c') is null as none`)).toEqual({ none: true });
  await request.query('commit');
  expect(await startMigration()).toEqual(['0002-locking']);
});

test('a batch of a fill that a request keeps from a row runs again, and each row is filled once', async () => {
  await db.database.run(sql`insert into a select generate_series(1, 9)`);
  await openSessions(`deadlock_timeout = '20ms'`);
  // The second step waits at the gate, so that the request has row 7 before the fill begins.
  await writeFile(
    join(folder, '0002-locking.sql'),
    `alter table a add column filled int4 not null default 0;
-- then
select pg_advisory_xact_lock(${GATE});
-- fill: all
update a set filled = filled + 1 where n in (select n from a where filled = 0 order by n limit 4);`,
  );
  const migration = startMigration();
  await untilWaiting('advisory');
  await request.query('update a set n = n where n = 7');
  const before = said.length;
  await openGate();
  await expect.poll(() => said.length, { interval: 2 }).toBeGreaterThan(before);
  await request.query('commit');
  expect(await migration).toEqual(['0002-locking']);
  expect(said.at(-1)).toEqual({ migration: '0002-locking', step: 'fill all', rows: 9, done: true });
  expect(await db.database.rows(sql`select distinct filled from a`)).toEqual([{ filled: 1 }]);
});
