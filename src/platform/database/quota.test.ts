import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { type Quota, readQuota, reserveParts, takeQuota } from './quota.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase();
let clock: SettableClock;

beforeEach(async () => {
  clock = settableClock(NOON);
  await db.database.run(sql`delete from rate_counters`);
});

const quota = (changes: Partial<Quota> = {}): Quota => ({
  name: 'confirm_per_ip_hour',
  subject: '192.0.2.1',
  limit: 3,
  windowSeconds: 3_600,
  ...changes,
});
const take = (changes: Partial<Quota> = {}): Promise<void> =>
  takeQuota({ database: db.database, clock }, quota(changes));

const times = (count: number): Promise<PromiseSettledResult<void>[]> =>
  Promise.allSettled(Array.from({ length: count }, () => take()));

test('of 50 calls at once exactly the limit passes', async () => {
  const outcomes = await times(50);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ reason: 'rate_limited' });
});

test.each([
  ['at the start of the window', 0, 3_600],
  ['half a second later', 500, 3_600],
  ['in the middle', 1_800_000, 1_800],
  ['in its last millisecond', 3_599_999, 1],
])('a refusal %s says when the window ends', async (_when, afterMs, seconds) => {
  clock.set(NOON + afterMs);
  await times(3);
  await expect(take()).rejects.toMatchObject({ options: { retryAfterSeconds: seconds } });
  clock.set(NOON + afterMs + seconds * 1_000);
  await take();
});

test('windows, names and subjects are counted apart', async () => {
  await times(3);
  await take({ subject: '192.0.2.2' });
  await take({ name: 'registration_per_ip_hour' });
  await expect(take()).rejects.toMatchObject({ reason: 'rate_limited' });
  clock.set(NOON + 3_600_000);
  await take();
});

test('a limit of 0 lets nothing through', async () => {
  await expect(take({ limit: 0 })).rejects.toMatchObject({ reason: 'rate_limited' });
});

test('the count outlives the failure of what it guarded', async () => {
  await take();
  const failed = db.database.transaction(async () => {
    throw new Error('what was guarded failed');
  });
  await expect(failed).rejects.toThrow('guarded');
  expect(await readQuota(db.database, NOON, quota())).toMatchObject({ used: 1 });
});

test('reading shows what is used, never above the limit, and uses nothing', async () => {
  const resetsAt = new Date(NOON + 3_600_000);
  expect(await readQuota(db.database, NOON + 1, quota())).toEqual({ limit: 3, used: 0, resetsAt });
  await times(2);
  expect(await readQuota(db.database, NOON + 2, quota())).toEqual({ limit: 3, used: 2, resetsAt });
  await times(9);
  expect(await readQuota(db.database, NOON + 3, quota())).toEqual({ limit: 3, used: 3, resetsAt });
});

test('windows that are days old are swept by later calls, and no younger ones', async () => {
  const rows = async (): Promise<bigint> =>
    (await db.database.one<{ count: bigint }>(sql`select count(*) from rate_counters`)).count;
  for (let subject = 0; subject < 60; subject += 1) await take({ subject: `old-${subject}` });
  clock.set(NOON + 2 * 86_400_000);
  await take();
  expect(await rows()).toBe(61n);
  clock.set(NOON + 2 * 86_400_000 + 1);
  await take();
  expect(await rows()).toBe(11n);
  await take();
  expect(await rows()).toBe(1n);
});

const reserve = (parts: number, changes: Partial<Quota> = {}) =>
  reserveParts({ database: db.database, clock }, { ...quota(changes), perUnit: 100 }, parts);

test('parts are reserved until the limit is reached, and those not used are given back', async () => {
  const first = await reserve(250);
  const second = await reserve(250);
  await expect(reserve(1)).rejects.toMatchObject({
    reason: 'rate_limited',
    message: expect.stringContaining('the limit of 3 in 3600 seconds'),
  });
  await second.adjustTo(40);
  await first.adjustTo(250);
  const third = await reserve(10);
  await expect(reserve(1)).rejects.toMatchObject({ reason: 'rate_limited' });
  clock.set(NOON + 3_600_000);
  // Parts of an earlier window are not given back to this one.
  await reserve(300);
  await third.adjustTo(0);
  await expect(reserve(1)).rejects.toMatchObject({ reason: 'rate_limited' });
});

test('of many reservations at once as many pass as fit, and a limit of 0 lets none through', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => reserve(100)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  await expect(reserve(1, { subject: '192.0.2.9', limit: 0 })).rejects.toMatchObject({ reason: 'rate_limited' });
});
