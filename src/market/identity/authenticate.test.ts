import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { registerCaller } from '../../../test/support/identity-doors.ts';
import { marketContext, type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { createPepperFrom } from '../../platform/pepper.ts';
import { systemRandom } from '../../platform/random.ts';
import { makeMerchantKey } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import { authenticate } from './authenticate.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase();
let clock: SettableClock;
let market: Market;
let count = 0;

beforeEach(async () => {
  clock = settableClock(NOON);
  market = marketContext({ database: db.database, clock, limits: { registration_per_ip_hour: 100 } });
  count += 1;
});

async function newKey(handle = `merchant-${count}`): Promise<string> {
  const door = registerCaller(market);
  const staged = await door.stage(handle);
  await door.confirm(staged);
  return staged.merchant_key;
}

const lastUse = async (): Promise<string | null> =>
  (
    await db.database.one<{ last_used_on: string | null }>(sql`
      select last_used_on from merchant_keys join merchants on merchants.id = merchant_id
      where handle = ${`merchant-${count}`}`)
  ).last_used_on;

test('a current key names its merchant', async () => {
  expect(await authenticate(market, await newKey())).toMatchObject({ handle: `merchant-${count}`, maintainer: false });
});

test('an unknown key, a broken one, another prefix and a revoked one authenticate no merchant', async () => {
  const key = await newKey();
  const broken = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  for (const bearer of [makeMerchantKey(systemRandom, 'aisle'), makeMerchantKey(systemRandom, 'city'), broken, '', 'x'])
    expect(await authenticate(market, bearer)).toBeNull();
  await db.database.run(sql`update merchant_keys set revoked_at = now() where revoked_at is null`);
  expect(await authenticate(market, key)).toBeNull();
});

test('a malformed key is refused without asking the database', async () => {
  const database = new Proxy(market.database, {
    get: () => {
      throw new Error('asked');
    },
  });
  expect(await authenticate({ ...market, database }, 'aisle_sk_short')).toBeNull();
  await expect(authenticate({ ...market, database }, makeMerchantKey(systemRandom, 'aisle'))).rejects.toThrow('asked');
});

test('a key stored under an older pepper works, and by its use moves to the newest: then the old one may go', async () => {
  const [key, unused] = [await newKey(), await newKey('never-used')];
  const [old, newer] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
  const rotated = createPepperFrom(
    new Map([
      [1, old],
      [2, newer],
    ]),
  );
  const onlyNew = { ...market, pepper: createPepperFrom(new Map([[2, newer]])) };
  expect(await authenticate({ ...market, pepper: rotated }, key)).not.toBeNull();
  await expect.poll(() => authenticate(onlyNew, key)).not.toBeNull();
  expect(await authenticate({ ...market, pepper: rotated }, key)).not.toBeNull();
  expect(await authenticate(onlyNew, unused)).toBeNull();
});

test('the day of the last use is kept, written once a day', async () => {
  const key = await newKey();
  expect(await lastUse()).toBeNull();
  await authenticate(market, key);
  await expect.poll(lastUse).toBe('2030-01-01');
  const version = sql`select merchant_keys.xmin::text from merchant_keys join merchants on merchants.id = merchant_id
    where handle = ${`merchant-${count}`}`;
  const written = await db.database.one(version);
  clock.set(NOON + 3_600_000);
  await authenticate(market, key);
  clock.set(NOON + 86_400_000);
  expect(await db.database.one(version)).toEqual(written);
  await authenticate(market, key);
  await expect.poll(lastUse).toBe('2030-01-02');
});

test('a use that cannot be noted does not fail the request', async () => {
  const key = await newKey();
  const { log, logged } = recordingLog();
  const database: Market['database'] = { ...market.database, run: () => Promise.reject(new Error('read-only')) };
  expect(await authenticate({ ...market, database, log }, key)).not.toBeNull();
  expect(await logged('key_use_not_recorded')).toMatchObject({ level: 'warn' });
});
