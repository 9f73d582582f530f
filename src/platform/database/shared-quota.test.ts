import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { clientNetwork } from '../http/client-network.ts';
import { systemRandom } from '../random.ts';
import { takeSharedQuota } from './shared-quota.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const LIMIT = 80;
const db = testDatabase();
let clock: SettableClock;
/** Value that every random draw returns, from 0 to 1. */
let luck = 0;

beforeEach(async () => {
  clock = settableClock(NOON);
  luck = 0;
  await db.database.run(sql`delete from rate_counters`);
});

const take = (address: string): Promise<void> =>
  takeSharedQuota(
    { database: db.database, clock, random: { ...systemRandom, int: (below) => Math.floor(luck * below) } },
    { name: 'registration_per_hour', limit: LIMIT, windowSeconds: 3_600, clientNetwork: clientNetwork(address) },
  );
const passes = async (address: string): Promise<boolean> => {
  try {
    await take(address);
    return true;
  } catch {
    return false;
  }
};
const fromOneSite = (count: number): Promise<PromiseSettledResult<void>[]> =>
  Promise.allSettled(Array.from({ length: count }, (_, at) => take(`2001:db8:1:${(at % 128).toString(16)}::1`)));

test('of many at once from one site three quarters get what all share, and one of its networks a kept place', async () => {
  const outcomes = await fromOneSite(90);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(60);
  clock.set(NOON + 3_599_000);
  expect(await passes('2001:db8:1:ff::1')).toBe(true);
  expect(await passes('2001:db8:1:fe::1')).toBe(false);
});

test('a newcomer from elsewhere is let in, once, as far as kept places have come free', async () => {
  await fromOneSite(90);
  // The first of thirty slots releases less than one unit of the reserved part.
  await expect(take('192.0.2.1')).rejects.toMatchObject({ options: { retryAfterSeconds: 120 } });
  clock.set(NOON + 250_000);
  expect(await passes('192.0.2.1')).toBe(true);
  await expect(take('192.0.2.1')).rejects.toMatchObject({
    reason: 'rate_limited',
    options: { retryAfterSeconds: 3_350, budget: 'registration_per_hour' },
  });
});

test('who asks for kept places lately is counted by region, and chance decides among them', async () => {
  await fromOneSite(90);
  clock.set(NOON + 400_000);
  luck = 0.999;
  for (let region = 1; region <= 9; region += 1)
    expect([region, await passes(`10.${region}.0.1`)]).toEqual([region, region === 1]);
  // By now two and a third units are released, and ten supernets have asked. Each has a chance of 0.23, or half of that if it asks again.
  clock.set(NOON + 500_000);
  luck = 0.3;
  expect(await passes('203.0.113.1')).toBe(false);
  luck = 0.1;
  expect(await passes('203.0.113.1')).toBe(true);
});

test('what is refused uses nothing, and the next window begins with everything', async () => {
  await fromOneSite(100);
  const { used } = await db.database.one<{ used: number }>(
    sql`select used from rate_counters where name = 'registration_per_hour' and subject = 'all'`,
  );
  expect(used).toBe(60);
  clock.set(NOON + 3_600_000);
  expect(await passes('2001:db8:1:1::1')).toBe(true);
});
