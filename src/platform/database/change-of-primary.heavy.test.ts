import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKillSwitch, startKillPostgres } from '../../../test/support/kill-postgres.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import {
  openPostgresGround,
  type PostgresGround,
  type PostgresServer,
} from '../../../test/support/standby-postgres.ts';
import { createSingletonJob } from '../background-jobs.ts';
import { systemClock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { isUnavailable, whyUnavailable } from './database-error.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

const patiently = { timeout: 20_000, interval: 20 };

let ground: PostgresGround;
let first: PostgresServer;
let second: PostgresServer;
let closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  ground = await openPostgresGround();
  first = await ground.startPrimary();
  const before = await openDatabase({ url: first.url });
  await before.run(sql`create table kept (n int4 primary key)`);
  await before.close();
  second = await first.copyWhileRunning();
  await second.startAsStandbyOf(first, 'second');
  await first.makeSynchronous('second');
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
  closing = [];
  await ground.drop();
});

async function open(url: string, log?: Log): Promise<Database> {
  const database = await openDatabase({
    url,
    poolSize: 4,
    connectTimeoutMs: 2_000,
    ...(log === undefined ? {} : { log }),
  });
  closing.push(() => database.close());
  return database;
}

async function addressOf(server: PostgresServer) {
  const wire = await startKillPostgres(server.url, createKillSwitch());
  closing.push(wire.close);
  return wire;
}

const write = (database: Database, n: number): Promise<number> => database.run(sql`insert into kept values (${n})`);
const whyNot = (act: Promise<unknown>): Promise<string | null> =>
  act.then(
    () => 'done',
    (error: unknown) => (isUnavailable(error) ? whyUnavailable(error) : String(error)),
  );

/** Returns one URL that lists all servers in this order. */
async function listOf(...servers: PostgresServer[]): Promise<string> {
  const hosts: string[] = [];
  for (const server of servers) hosts.push(new URL((await addressOf(server)).url).host);
  const { username, password } = new URL(first.url);
  return `postgresql://${username}:${password}@${hosts.join(',')}/openaisle`;
}

async function keptOn(server: PostgresServer): Promise<number[]> {
  const own = await openDatabase({ url: server.url, poolSize: 1 });
  const rows = await own.rows<{ n: number }>(sql`select n from kept order by n`);
  await own.close();
  return rows.map(({ n }) => n);
}

async function sessionsOn(server: PostgresServer): Promise<number> {
  const sessions = "select count(*)::int as n from pg_stat_activity where application_name = 'openaisle'";
  return (await server.ask<{ n: number }>(sessions))[0]?.n ?? 0;
}

/** Holds the key until `free` is called. */
async function holdLock(database: Database, key: string) {
  const entered = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<string>();
  const done = database.withAdvisoryLock(key, (signal) => {
    entered.resolve(signal);
    return end.promise;
  });
  return { lost: await entered.promise, done, free: () => end.resolve('freed') };
}

/** Makes the primary a standby of the other server, as in a planned switchover. */
async function changePlaces(): Promise<void> {
  await first.stop();
  await second.promote();
  await first.startAsStandbyOf(second, 'first');
}

test('a standby is refused at the start with what to do, by the pool and by the migrations', async () => {
  await expect(openDatabase({ url: second.url })).rejects.toThrow(
    'the server is a standby and takes no writes: name the primary, or several hosts',
  );
  await expect(migrate(second.url, 'migrations/city')).rejects.toThrow('the server is a standby');
});

test('behind an address that leads to what is a standby now everything is refused, and goes on when it leads to the primary', async () => {
  const wire = await addressOf(first);
  const database = await open(wire.url);
  const { log } = recordingLog();
  const job = createSingletonJob({
    ...{ database, clock: systemClock, log, name: 'lead' },
    run: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  });
  job.start();
  closing.push(job.stop);
  await expect.poll(job.isLeader, patiently).toBe(true);
  await write(database, 1);
  await changePlaces();
  // A standby would hand out locks and return old rows.
  expect(await whyNot(write(database, 2))).toBe('read_only');
  expect(await whyNot(database.rows(sql`select * from kept`))).toBe('read_only');
  expect(job.isLeader()).toBe(false);
  wire.leadTo(second.url);
  await write(database, 3);
  await expect.poll(job.isLeader, patiently).toBe(true);
  expect(await second.ask("select pid from pg_locks where locktype = 'advisory'")).toHaveLength(1);
  expect(await database.rows(sql`select n from kept order by n`)).toEqual([{ n: 1 }, { n: 3 }]);
});

test('of several hosts the primary is found, whichever it is by now, and whichever of them are away', async () => {
  const database = await open(await listOf(first, second));
  await write(database, 1);
  await first.kill();
  await expect.poll(() => whyNot(write(database, 2)), patiently).not.toBe('done');
  await second.promote();
  await expect.poll(() => whyNot(write(database, 3)), patiently).toBe('done');
  expect(await database.withAdvisoryLock('lead', async () => 'held')).toEqual({ value: 'held' });
  await first.start();
  // The first server does not know that it is no longer the primary. No connection may go back to it.
  await Promise.all([4, 5, 6, 7, 8].map((n) => write(database, n)));
  expect(await second.ask("select pid from pg_stat_activity where application_name = 'openaisle'")).not.toEqual([]);
  expect(await first.ask("select pid from pg_stat_activity where application_name = 'openaisle'")).toEqual([]);
});

test('with a standby first in the list a process has one session for all its locks, however often it asks', async () => {
  const database = await open(await listOf(second, first));
  const most: number[] = [];
  const held = await holdLock(database, 'lead');
  for (let round = 1; round <= 40; round += 1) {
    expect(await database.withAdvisoryLock(`round ${round}`, () => write(database, round))).toEqual({ value: 1 });
    most.push(await sessionsOn(first));
  }
  // Two connections: one in the pool, because callers wrote one at a time, and one that holds locks.
  expect(most).toEqual(most.map(() => 2));
  expect(held.lost.aborted).toBe(false);
  held.free();
  expect(await held.done).toEqual({ value: 'freed' });
  await expect.poll(() => sessionsOn(second), patiently).toBe(0);
  expect(await first.ask("select pid from pg_locks where locktype = 'advisory'")).toEqual([]);
});

test('a primary that is closed to writes is left with all connections and locks, for the one that the address leads to', async () => {
  await first.makeSynchronous(null);
  const wire = await addressOf(first);
  const database = await open(wire.url);
  await Promise.all([1, 2, 3].map((n) => write(database, n)));
  let lost = false;
  const held = database.withAdvisoryLock('lead', async (signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    lost = true;
  });
  await expect.poll(() => first.ask("select pid from pg_locks where locktype = 'advisory'"), patiently).toHaveLength(1);
  await second.waitForReplay(first);
  await first.ask('alter system set default_transaction_read_only = on');
  await first.ask('select pg_reload_conf()');
  await second.promote();
  wire.leadTo(second.url);
  await expect.poll(() => whyNot(write(database, 4)), patiently).toBe('read_only');
  await held;
  expect(lost).toBe(true);
  await Promise.all([5, 6, 7].map((n) => write(database, n)));
  expect(await database.withAdvisoryLock('lead', async () => 'held')).toEqual({ value: 'held' });
  const found = await second.ask<{ n: number }>(
    'select count(*)::int as n from pg_stat_activity where usename is not null',
  );
  expect(found[0]?.n).toBeGreaterThan(1);
  expect(await database.rows(sql`select n from kept where n > 4 order by n`)).toEqual([{ n: 5 }, { n: 6 }, { n: 7 }]);
});

test('of two servers that both take themselves for the primary the one that was promoted last is used, and never the other', async () => {
  await first.makeSynchronous(null);
  const { log, logged } = recordingLog();
  const url = await listOf(first, second);
  const database = await open(url, log);
  const held = await holdLock(database, 'lead');
  await write(database, 1);
  await second.waitForReplay(first);
  // The first server does not notice, as if only its supervisor had died.
  await second.promote();
  await logged('database_split_brain');
  await expect.poll(() => held.lost.aborted, patiently).toBe(true);
  held.free();
  await held.done;
  await write(database, 2);
  expect(await database.withAdvisoryLock('lead', async () => 'held')).toEqual({ value: 'held' });
  // A database opened now must not connect to the first host in the list.
  await write(await open(url), 3);
  expect(await keptOn(second)).toEqual([1, 2, 3]);
  expect(await keptOn(first)).toEqual([1]);
  expect(await first.ask("select pid from pg_locks where locktype = 'advisory'")).toEqual([]);
  await second.kill();
  await expect.poll(() => whyNot(write(database, 4)), patiently).toBe('split');
  expect(await keptOn(first)).toEqual([1]);
  await second.start();
  await expect.poll(() => whyNot(write(database, 5)), patiently).toBe('done');
  expect(await keptOn(second)).toEqual([1, 2, 3, 5]);
});
