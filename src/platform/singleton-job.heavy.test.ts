import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { recordingLog } from '../../test/support/recording-log.ts';
import { severableDatabase } from '../../test/support/severable-database.ts';
import { createSingletonJob, type SingletonJob } from './background-jobs.ts';
import { systemClock } from './clock.ts';
import type { Database } from './database/database.ts';
import { openDatabase } from './database/open-database.ts';

const db = testDatabase({ migrated: false });
const open: { stop(): Promise<void> }[] = [];
let running = 0;
let mostRunning = 0;

afterEach(async () => {
  for (const { stop } of open.splice(0).reverse()) await stop();
  mostRunning = 0;
});

async function anotherProcess(): Promise<Database> {
  const database = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  open.push({ stop: () => database.close() });
  return database;
}

/** Counts how many run at once. */
function watched(database: Database, name: string): SingletonJob & { lines: ReturnType<typeof recordingLog>['lines'] } {
  const { log, lines } = recordingLog();
  const job = createSingletonJob({
    database,
    clock: systemClock,
    log,
    name,
    run: async (signal) => {
      running += 1;
      mostRunning = Math.max(mostRunning, running);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      running -= 1;
    },
  });
  open.push(job);
  return { ...job, lines };
}

const held = (jobs: readonly SingletonJob[]): boolean[] => jobs.map((duty) => duty.isLeader());

test('one of several processes holds it, and when that one stops another takes it', async () => {
  const duties = [watched(db.database, 'one'), watched(await anotherProcess(), 'one')];
  const other = watched(db.database, 'another name');
  for (const duty of duties) duty.start();
  other.start();
  await expect.poll(() => held([...duties, other]).filter(Boolean).length).toBe(2);
  expect(other.isLeader()).toBe(true);
  const first = duties.find((duty) => duty.isLeader());
  await first?.stop();
  expect(first?.isLeader()).toBe(false);
  await expect.poll(() => held(duties).filter(Boolean).length, { timeout: 5_000 }).toBe(1);
  expect(mostRunning).toBe(2);
});

test('a holder whose session is cut is told, stops, and somebody has it again within 5 s', async () => {
  const duties = [watched(db.database, 'cut'), watched(await anotherProcess(), 'cut')];
  for (const duty of duties) duty.start();
  await expect.poll(() => held(duties).filter(Boolean).length).toBe(1);
  const cutAt = systemClock.now();
  const holder = duties.find((duty) => duty.isLeader());
  await db.database.rows(sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())`);
  await expect.poll(() => holder?.lines.some(({ event }) => event === 'duty_lost')).toBe(true);
  await expect.poll(() => held(duties).filter(Boolean).length, { timeout: 5_000 }).toBe(1);
  expect(systemClock.now() - cutAt).toBeLessThan(5_000);
});

test('while the database is away it complains once, and goes on trying', async () => {
  const wire = await severableDatabase(db.url);
  open.push({ stop: () => wire.close() });
  const duty = watched(wire.database, 'away');
  duty.start();
  await expect.poll(() => duty.isLeader()).toBe(true);
  await wire.sever();
  await expect.poll(() => duty.lines.at(-1)?.event, { timeout: 10_000 }).toBe('duty_failed');
  expect(duty.isLeader()).toBe(false);
  expect(duty.lines.map(({ event }) => event)).toEqual(['duty_taken', 'duty_lost', 'duty_failed']);
});

test('a stop while it is being taken ends without a run', async () => {
  const asked = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  const database: Database = {
    ...db.database,
    withAdvisoryLock: async (key, act) => {
      asked.resolve();
      await mayGoOn.promise;
      return db.database.withAdvisoryLock(key, act);
    },
  };
  const duty = watched(database, 'stopped');
  duty.start();
  await asked.promise;
  const stopped = duty.stop();
  mayGoOn.resolve();
  await stopped;
  expect(mostRunning).toBe(0);
});

test('a run that throws gives the duty back, and it is taken again', async () => {
  const { log, lines } = recordingLog();
  let runs = 0;
  const run = async (): Promise<void> => {
    runs += 1;
    throw new Error('broken');
  };
  const duty = createSingletonJob({ database: db.database, clock: systemClock, log, name: 'throws', run });
  duty.start();
  await expect.poll(() => runs, { timeout: 5_000 }).toBe(2);
  await duty.stop();
  expect(duty.isLeader()).toBe(false);
  expect(lines.filter(({ event }) => event === 'duty_failed').length).toBeGreaterThan(0);
});
