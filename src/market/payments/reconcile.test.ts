import { afterEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { createReconciler } from './reconcile.ts';

const db = testDatabase();
const open: { stop(): Promise<void> }[] = [];
const patiently = { timeout: 5_000, interval: 10 };

afterEach(async () => {
  for (const { stop } of open.splice(0).reverse()) await stop();
});

function reconciling(database: Database, clock: Clock = systemClock) {
  let passes = 0;
  let stoodIn = 0;
  const pass = async (): Promise<void> => {
    passes += 1;
  };
  const followerRound = async (): Promise<void> => {
    stoodIn += 1;
  };
  const reconciler = createReconciler(marketContext({ database, clock }), { pass, followerRound }, 10);
  open.push(reconciler);
  reconciler.start();
  return { ...reconciler, passes: () => passes, stoodIn: () => stoodIn };
}

async function anotherProcess(): Promise<Database> {
  const database = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  open.push({ stop: () => database.close() });
  return database;
}

test('of two processes one makes its passes, until it stops; then the other does', async () => {
  const both = [reconciling(db.database), reconciling(await anotherProcess())];
  await expect.poll(() => both.reduce((sum, { passes }) => sum + passes(), 0), patiently).toBeGreaterThan(20);
  const holder = both.find(({ isLeader }) => isLeader());
  const other = both.find((one) => one !== holder);
  expect([other?.isLeader(), other?.passes()]).toEqual([false, 0]);
  await holder?.stop();
  const last = holder?.passes();
  await expect.poll(() => other?.passes(), patiently).toBeGreaterThan(5);
  expect(holder?.passes()).toBe(last);
});

test('where the leader is frozen, another process passes once a minute', async () => {
  const frozen = await anotherProcess();
  const taken = Promise.withResolvers<void>();
  const thawed = Promise.withResolvers<void>();
  const holding = frozen.withAdvisoryLock('duty:reconcile', async () => {
    taken.resolve();
    await thawed.promise;
  });
  await taken.promise;
  // Sleeps 60 ms instead of a minute.
  const quick: Clock = { now: systemClock.now, sleep: (ms, signal) => systemClock.sleep(ms / 1_000, signal) };
  const waiting = reconciling(db.database, quick);
  await expect.poll(() => waiting.stoodIn(), patiently).toBeGreaterThan(2);
  expect([waiting.isLeader(), waiting.passes()]).toEqual([false, 0]);
  thawed.resolve();
  await holding;
});
