import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { severableDatabase, testDatabase } from '../../test/support/database.ts';
import { recordingLog } from '../../test/support/recording-log.ts';
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

/** Creates a job. `running` counts the active runs of all such jobs. */
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

const held = (jobs: readonly SingletonJob[]): boolean[] => jobs.map((job) => job.isLeader());

test('one of several processes holds it, and when that one stops another takes it', async () => {
  const jobs = [watched(db.database, 'one'), watched(await anotherProcess(), 'one')];
  const other = watched(db.database, 'another name');
  for (const job of jobs) job.start();
  other.start();
  await expect.poll(() => held([...jobs, other]).filter(Boolean).length).toBe(2);
  expect(other.isLeader()).toBe(true);
  const first = jobs.find((job) => job.isLeader());
  await first?.stop();
  expect(first?.isLeader()).toBe(false);
  await expect.poll(() => held(jobs).filter(Boolean).length).toBe(1);
  expect(mostRunning).toBe(2);
});

test('a leader whose session is cut is told, stops, and there is a leader again within 5 s', async () => {
  const jobs = [watched(db.database, 'cut'), watched(await anotherProcess(), 'cut')];
  for (const job of jobs) job.start();
  await expect.poll(() => held(jobs).filter(Boolean).length).toBe(1);
  const cutAt = systemClock.now();
  const holder = jobs.find((job) => job.isLeader());
  await db.database.rows(sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())`);
  await expect.poll(() => holder?.lines.some(({ event }) => event === 'job_leader_lost')).toBe(true);
  await expect.poll(() => held(jobs).filter(Boolean).length).toBe(1);
  expect(systemClock.now() - cutAt).toBeLessThan(5_000);
});

test('while the database is away it complains once, and goes on trying', async () => {
  const wire = await severableDatabase(db.url);
  open.push({ stop: () => wire.close() });
  const job = watched(wire.database, 'away');
  job.start();
  await expect.poll(() => job.isLeader()).toBe(true);
  await wire.sever();
  await expect.poll(() => job.lines.at(-1)?.event).toBe('job_failed');
  expect(job.isLeader()).toBe(false);
  expect(job.lines.map(({ event }) => event)).toEqual(['job_leader_acquired', 'job_leader_lost', 'job_failed']);
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
  const job = watched(database, 'stopped');
  job.start();
  await asked.promise;
  const stopped = job.stop();
  mayGoOn.resolve();
  await stopped;
  expect(mostRunning).toBe(0);
});

test('a run that throws gives the job back, and it is taken again', async () => {
  const { log, lines } = recordingLog();
  let runs = 0;
  const run = async (): Promise<void> => {
    runs += 1;
    throw new Error('broken');
  };
  const job = createSingletonJob({ database: db.database, clock: systemClock, log, name: 'throws', run });
  job.start();
  await expect.poll(() => runs).toBe(2);
  await job.stop();
  expect(job.isLeader()).toBe(false);
  expect(lines.filter(({ event }) => event === 'job_failed').length).toBeGreaterThan(0);
});
