import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../../test/support/database.ts';
import { openPayment } from '../../../../test/support/listing-life.ts';
import { SEED_TIME, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Payment } from '../payment.ts';
import { findPayment } from '../store.ts';
import type { ChainHead } from './read-head.ts';
import { createReadSchedule } from './read-schedule.ts';
import { raiseWatermark } from './store.ts';

const CHAIN = 8453n;
const BLOCK_SECONDS = 2;
const FINALITY_BLOCKS = 600;
const BEGIN = SEED_TIME.getTime();
/** Latest block when a test begins. */
const LATEST = 10_000n;

const db = testDatabase();
let listingId: bigint;
let now = BEGIN;
const clock = { now: () => now, sleep: systemClock.sleep };
const blockTime = (number: bigint): Date => new Date(BEGIN + Number(number - LATEST) * BLOCK_SECONDS * 1_000);
const makeSchedule = (longestPauseMs = 30_000) =>
  createReadSchedule({ database: db.database, clock, blockSeconds: BLOCK_SECONDS, chainId: CHAIN, longestPauseMs });
/** Returns the heads of a chain with one block every two seconds. */
const headNow = (): ChainHead => {
  const number = LATEST + BigInt(Math.floor((now - BEGIN) / 1_000 / BLOCK_SECONDS)) - BigInt(FINALITY_BLOCKS);
  const timestamp = BigInt(blockTime(number).getTime() / 1_000);
  return { finalized: { number, timestamp, hash: `0x${'0'.repeat(64)}` } } as ChainHead;
};

beforeAll(async () => {
  const { id } = await seedMerchant(db.database);
  ({ id: listingId } = await seedListing(db.database, id));
});
beforeEach(async () => {
  now = BEGIN;
  await db.database.run(sql`update payments set status = 'unpaid', end_reason = 'expired', ended_at = now()
    where status in ('verifying', 'settling')`);
});

async function paid(seenIn: bigint | null): Promise<Payment> {
  const { id } = await db.database.transaction((tx) => openPayment(tx, listingId));
  const hash = Buffer.alloc(32, 7);
  await db.database.run(sql`update payments set status = 'settling', settling_at = ${new Date(now)} where id = ${id}`);
  if (seenIn !== null) {
    await db.database.run(sql`update payments set tx_hash = ${hash}, block_number = ${seenIn},
      block_time = ${blockTime(seenIn)} where id = ${id}`);
  }
  const payment = await findPayment(db.database, id);
  if (payment === null) throw new Error('no payment');
  return payment;
}

/** Counts the checks until the block is final, at one round a second. */
async function countChecks(schedule: ReturnType<typeof makeSchedule>): Promise<number> {
  let count = 0;
  for (let second = 0; second < BLOCK_SECONDS * FINALITY_BLOCKS; second += 1) {
    now = BEGIN + second * 1_000;
    if (!(await schedule.isDue())) continue;
    schedule.noteHead(headNow());
    count += 1;
  }
  return count;
}

test('a payment that waits 20 minutes for finality is looked at 60 times or less, and every second at the end', async () => {
  await paid(LATEST);
  const schedule = makeSchedule();
  expect(await countChecks(schedule)).toBeLessThanOrEqual(60);
  now += 1_000;
  expect(await schedule.isDue()).toBe(true);
});

test('where nothing is undecided every turn is due, since it does not ask the chain', async () => {
  const schedule = makeSchedule();
  for (let turn = 0; turn < 3; turn += 1) expect(await schedule.isDue()).toBe(true);
});

test('a payment that no block shows is looked for at every turn', async () => {
  await paid(null);
  const schedule = makeSchedule();
  for (let second = 0; second < 5; second += 1) {
    now += 1_000;
    expect(await schedule.isDue()).toBe(true);
  }
});

test('a payment is far from final by blocks and by their times, and only by a fresh reading of the heads', async () => {
  const payment = await paid(LATEST);
  const schedule = makeSchedule();
  expect(await schedule.isFarFromFinal(payment)).toBe(false);
  schedule.noteHead(headNow());
  expect(await schedule.isFarFromFinal(payment)).toBe(true);
  expect(await schedule.isFarFromFinal({ ...payment, blockNumber: LATEST - 599n })).toBe(false);
  expect(await schedule.isFarFromFinal({ ...payment, blockTime: blockTime(LATEST - 599n) })).toBe(false);
  expect(await schedule.isFarFromFinal({ ...payment, blockNumber: null, blockTime: null })).toBe(false);
  now += 61_000;
  expect(await schedule.isFarFromFinal(payment)).toBe(false);
});

test('no pause at all: every turn is due, and nothing is far', async () => {
  const payment = await paid(LATEST);
  const schedule = makeSchedule(0);
  schedule.noteHead(headNow());
  for (let turn = 0; turn < 3; turn += 1) expect(await schedule.isDue()).toBe(true);
  expect(await schedule.isFarFromFinal(payment)).toBe(false);
});

test('what another process has read lately tells how far a payment is from final, and whether it is overdue', async () => {
  const payment = await paid(LATEST);
  const schedule = makeSchedule();
  const { finalized } = headNow();
  if (finalized === null) throw new Error('no head');
  await raiseWatermark(db.database, CHAIN, finalized, { resets: 0, now: new Date(now) });
  expect([await schedule.isFarFromFinal(payment), await schedule.isOverdue()]).toEqual([true, false]);
  // After ten minutes the watermark is too old to use. Later, the payment should have been decided.
  now += 601_000;
  expect([await schedule.isFarFromFinal(payment), await schedule.isOverdue()]).toEqual([false, false]);
  now = BEGIN + BLOCK_SECONDS * FINALITY_BLOCKS * 1_000 + 31_000;
  expect(await schedule.isOverdue()).toBe(true);
});

test('a payment that no block shows after a minute is overdue, and where nothing is open nothing is', async () => {
  const schedule = makeSchedule();
  expect(await schedule.isOverdue()).toBe(false);
  await paid(null);
  expect(await schedule.isOverdue()).toBe(false);
  now += 3_600_000;
  expect(await schedule.isOverdue()).toBe(true);
});
