import sql, { type Sql } from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { registerCaller, type StagedSecrets } from '../../../test/support/identity-doors.ts';
import { marketContext, type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import type { Database, Queryable } from '../../platform/database/database.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { isMerchantKey, isRecoveryCode } from '../../platform/secrets.ts';
import { authenticate } from './authenticate.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const db = testDatabase();
let clock: SettableClock;
let door: ReturnType<typeof registerCaller>;

const roomy = { registration_per_ip_hour: 1_000, confirm_per_ip_hour: 1_000, registration_per_hour: 1_000 };
const market = (limits = {}) => marketContext({ database: db.database, clock, limits: { ...roomy, ...limits } });

beforeEach(() => {
  clock = settableClock(NOON);
  door = registerCaller(market());
});

interface Registered {
  id: bigint;
  events: { at: Date; canonical: string }[];
}

async function registered(handle: string): Promise<Registered | null> {
  const merchant = await db.database.maybe<{ id: bigint }>(sql`select id from merchants where handle = ${handle}`);
  const events = await db.database.rows<{ at: Date; canonical: string }>(sql`
    select at, convert_from(canonical, 'UTF8') as canonical from events
    where kind = 'register' and convert_from(canonical, 'UTF8')::json ->> 'actor' = ${handle}`);
  if (merchant === null) {
    expect(events).toEqual([]);
    return null;
  }
  return { id: merchant.id, events };
}

const open = ({ session, csrf }: StagedSecrets) => ({ session, csrf });

describe('stage', () => {
  test('shows a key, eight different codes and the end of the stage, and makes nothing yet', async () => {
    const { status, body } = await door.post({
      action: 'stage',
      handle: 'stage-alice',
      model: 'm',
      client_class: 'coding_persistent',
      human_approved: true,
    });
    expect(status).toBe(200);
    if (body.status !== 'staged') throw new Error(body.status);
    expect(body).toMatchObject({ handle: 'stage-alice', expires_at: '2030-01-01T12:15:00.000Z' });
    expect(isMerchantKey(body.merchant_key, 'aisle')).toBe(true);
    expect(new Set(body.recovery_codes).size).toBe(8);
    for (const code of body.recovery_codes) expect(isRecoveryCode(code, 'aisle')).toBe(true);
    expect(await registered('stage-alice')).toBeNull();
    expect(await authenticate(market(), body.merchant_key)).toBeNull();
  });

  test.each(['admin', '0fficial', 'tr-easury', 'rnaintainer'])('refuses the reserved handle %s', async (handle) => {
    await expect(door.stage(handle)).rejects.toMatchObject({ reason: 'handle_reserved' });
  });

  test('says at once that a handle is taken, and keeps no stage for it', async () => {
    await door.confirm(await door.stage('stage-owner'));
    const stages = sql`select count(*) from identity_stages`;
    const before = await db.database.one(stages);
    await expect(door.stage('stage-0wner')).rejects.toMatchObject({ reason: 'handle_taken' });
    expect(await db.database.one(stages)).toEqual(before);
  });

  test('ended stages are cleared away after a week, confirmed ones are kept', async () => {
    const expired = await door.stage('sweep-expired');
    const confirmed = await door.stage('sweep-confirmed');
    await door.confirm(confirmed);
    clock.set(NOON + 7 * 86_400_000 + 15 * 60_000 + 1);
    await door.stage('sweep-later');
    await expect(door.confirm(expired)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(door.confirm(confirmed)).rejects.toMatchObject({ reason: 'stage_closed' });
  });
});

describe('confirm', () => {
  test('with the key in Authorization makes the merchant, its key and one event in one act', async () => {
    const staged = await door.stage('confirm-alice');
    clock.set(NOON + 60_000);
    const { body } = await door.confirm(staged);
    if (body.status !== 'confirmed') throw new Error(body.status);
    const id = BigInt(body.merchant_id);
    expect(body).toEqual({ status: 'confirmed', merchant_id: body.merchant_id, handle: 'confirm-alice' });
    expect(body.merchant_id).toBeGreaterThanOrEqual(2);
    expect(await registered('confirm-alice')).toEqual({
      id,
      events: [
        {
          at: new Date(NOON + 60_000),
          canonical: `{"actor":"confirm-alice","at":"2030-01-01T12:01:00.000Z","detail":{"merchant_id":${id}},"kind":"register"}`,
        },
      ],
    });
    expect(await authenticate(market(), staged.merchant_key)).toEqual({
      id,
      handle: 'confirm-alice',
      maintainer: false,
      keyId: expect.any(BigInt),
    });
  });

  test('takes the key from the body too, or the same from both', async () => {
    const first = await door.stage('body-key');
    const second = await door.stage('both-keys');
    await door.post({ action: 'confirm', ...open(first), merchant_key: first.merchant_key });
    await door.post(
      { action: 'confirm', ...open(second), merchant_key: second.merchant_key },
      { bearer: second.merchant_key },
    );
    expect(await registered('body-key')).not.toBeNull();
    expect(await registered('both-keys')).not.toBeNull();
  });

  test('refuses no key, a wrong one and two different ones, and stays open for the right one', async () => {
    const staged = await door.stage('key-rules');
    const other = await door.stage('key-rules-2');
    const confirm = { action: 'confirm', ...open(staged) };
    await expect(door.post(confirm)).rejects.toMatchObject({ reason: 'key_required', row: { status: 401 } });
    const wrong = [
      () => door.confirm(staged, { bearer: other.merchant_key }),
      () => door.confirm(staged, { bearer: 'nonsense' }),
      () => door.post({ ...confirm, merchant_key: other.merchant_key }),
      () => door.post({ ...confirm, merchant_key: other.merchant_key }, { bearer: staged.merchant_key }),
      () => door.post({ ...confirm, merchant_key: staged.merchant_key }, { bearer: other.merchant_key }),
    ];
    for (const attempt of wrong)
      await expect(attempt()).rejects.toMatchObject({ reason: 'key_invalid', row: { status: 401 } });
    expect(await registered('key-rules')).toBeNull();
    await door.confirm(staged);
    expect(await registered('key-rules')).not.toBeNull();
  });

  test('answers an unknown session and a wrong csrf alike, open or closed', async () => {
    const staged = await door.stage('csrf-rules');
    const problems: unknown[] = [];
    const attempt = async (changes: object): Promise<void> => {
      problems.push(
        await door
          .post({ action: 'confirm', ...open(staged), ...changes }, { bearer: staged.merchant_key })
          .catch((error: unknown) => error),
      );
    };
    await attempt({ session: 'unknown' });
    await attempt({ csrf: 'wrong' });
    await door.confirm(staged);
    await attempt({ csrf: 'wrong' });
    for (const problem of problems) expect(problem).toMatchObject({ reason: 'not_found' });
    expect(new Set(problems.map((problem) => JSON.stringify(problem))).size).toBe(1);
  });

  test('works until the last millisecond of the stage and not after', async () => {
    const late = await door.stage('too-late');
    const justInTime = await door.stage('just-in-time');
    clock.set(NOON + 15 * 60_000 - 1);
    await door.confirm(justInTime);
    clock.set(NOON + 15 * 60_000);
    await expect(door.confirm(late)).rejects.toMatchObject({ reason: 'stage_closed', row: { status: 409 } });
    expect(await registered('too-late')).toBeNull();
  });

  test('50 at once for one session make one merchant; the others find the stage closed', async () => {
    const staged = await door.stage('fifty');
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => door.confirm(staged)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.reason] : []));
    expect(new Set(reasons)).toEqual(new Set(['stage_closed']));
    expect((await registered('fifty'))?.events).toHaveLength(1);
    await expect(door.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
  });

  test('a confirm overtaken between its looks at stage and handle finds the stage closed, not its own handle taken', async () => {
    const staged = await door.stage('overtaken');
    const second = await openDatabase({ url: db.url, poolSize: 2, allowUnsafe: true });
    const rival = registerCaller({ ...market(), database: second });
    let overtaken = false;
    const overtakenBy = <Q extends Queryable>(queryable: Q): Q => ({
      ...queryable,
      maybe: async <T>(query: Sql): Promise<T | null> => {
        const row = await queryable.maybe<T>(query);
        if (!overtaken) {
          overtaken = true;
          await rival.confirm(staged);
        }
        return row;
      },
    });
    const database: Database = {
      ...overtakenBy(db.database),
      transaction: (act, options) => db.database.transaction((tx) => act(overtakenBy(tx)), options),
    };
    const slow = registerCaller({ ...market(), database });
    await expect(slow.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
    expect(overtaken).toBe(true);
    await second.close();
  });

  test('two stages of one handle at once: the first takes it, the other goes on with another handle', async () => {
    for (let round = 0; round < 5; round += 1) {
      const handle = `contested-${round}`;
      const stages = [await door.stage(handle), await door.stage(handle)];
      const outcomes = await Promise.allSettled(stages.map((staged) => door.confirm(staged)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const loser = stages[outcomes.findIndex(({ status }) => status === 'rejected')];
      if (loser === undefined) throw new Error('both registrations succeeded');
      await expect(door.confirm(loser)).rejects.toMatchObject({ reason: 'handle_taken', row: { status: 409 } });
      const { body } = await door.confirm(loser, { handle: `second-choice-${round}` });
      expect(body).toMatchObject({ status: 'confirmed', handle: `second-choice-${round}` });
    }
  });

  test('judges another handle like a staged one', async () => {
    const staged = await door.stage('other-handle');
    await expect(door.confirm(staged, { handle: 'admin' })).rejects.toMatchObject({ reason: 'handle_reserved' });
    await door.confirm(await door.stage('other-taken'));
    await expect(door.confirm(staged, { handle: '0ther-taken' })).rejects.toMatchObject({ reason: 'handle_taken' });
    await door.confirm(staged, { handle: 'other-choice' });
    expect(await registered('other-handle')).toBeNull();
    expect(await registered('other-choice')).not.toBeNull();
  });

  test.each([
    ['pair-modern', 'pair-rnodern'],
    ['pair-zoo', 'pair-z0o'],
    ['pair-ball', 'pair-ba1l'],
    ['pair-wave', 'pair-vvave'],
    ['pair-hyphen', 'pair--hyphen'],
    ['pair-end', 'pair-end--'],
    ['pair-warm-lo0p', 'pair-vvarrn-1o0p'],
  ])('of %s and %s only one exists, even when both come at once', async (one, other) => {
    const stages = [await door.stage(one), await door.stage(other)];
    const outcomes = await Promise.allSettled(stages.map((staged) => door.confirm(staged)));
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes).toContainEqual({
      status: 'rejected',
      reason: expect.objectContaining({ reason: 'handle_taken' }),
    });
  });

  test('ids follow the order of commits without a gap, from 2 on', async () => {
    const stages = await Promise.all(Array.from({ length: 20 }, (_, index) => door.stage(`ordered-${index}`)));
    await Promise.all(stages.map((staged) => door.confirm(staged)));
    const ids = await db.database.rows<{ id: bigint }>(sql`select id from merchants order by id`);
    expect(ids.map(({ id }) => id)).toEqual(ids.map((_, index) => BigInt(index + 2)));
    const order = await db.database.rows<{ id: bigint }>(sql`
      select (convert_from(canonical, 'UTF8')::json -> 'detail' ->> 'merchant_id')::int8 as id
      from events where kind = 'register' order by queue_id`);
    expect(order.map(({ id }) => id)).toEqual(ids.map(({ id }) => id));
  });
});

describe('cancel', () => {
  test('ends the stage, and again without complaint, but not for a wrong csrf', async () => {
    const staged = await door.stage('cancel-me');
    const cancel = { action: 'cancel', ...open(staged) };
    await expect(door.post({ ...cancel, csrf: 'wrong' })).rejects.toMatchObject({ reason: 'not_found' });
    for (let time = 0; time < 2; time += 1) expect((await door.post(cancel)).body).toEqual({ status: 'canceled' });
    await expect(door.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
    expect(await registered('cancel-me')).toBeNull();
  });

  test('does not undo a merchant', async () => {
    const staged = await door.stage('cancel-late');
    await door.confirm(staged);
    await expect(door.post({ action: 'cancel', ...open(staged) })).rejects.toMatchObject({ reason: 'stage_closed' });
    expect(await authenticate(market(), staged.merchant_key)).not.toBeNull();
  });

  test('against a confirm at the same time one of the two holds', async () => {
    for (let round = 0; round < 10; round += 1) {
      const handle = `cancel-race-${round}`;
      const staged = await door.stage(handle);
      const [confirmed, canceled] = await Promise.allSettled([
        door.confirm(staged),
        door.post({ action: 'cancel', ...open(staged) }),
      ]);
      expect([confirmed.status, canceled.status].sort()).toEqual(['fulfilled', 'rejected']);
      expect((await registered(handle)) !== null).toBe(confirmed.status === 'fulfilled');
    }
  });
});

describe('limits and the door', () => {
  const refused = (seconds: number) => ({
    reason: 'rate_limited',
    row: { status: 429 },
    options: { retryAfterSeconds: seconds },
  });

  test('stages are limited per network; refused ones count', async () => {
    door = registerCaller(market({ registration_per_ip_hour: 3 }));
    clock.set(NOON + 600_000);
    await door.stage('limit-1', 'net-a');
    await expect(door.stage('admin', 'net-a')).rejects.toMatchObject({ reason: 'handle_reserved' });
    await door.stage('limit-2', 'net-a');
    await expect(door.stage('limit-3', 'net-a')).rejects.toMatchObject(refused(3_000));
    await door.stage('limit-3', 'net-b');
  });

  test('tries to confirm are limited per network, whatever they try', async () => {
    door = registerCaller(market({ confirm_per_ip_hour: 2 }));
    const staged = await door.stage('limit-confirm');
    const unknown = { ...staged, session: 'unknown' };
    for (let time = 0; time < 2; time += 1)
      await expect(door.confirm(unknown, { network: 'net-c' })).rejects.toMatchObject({ reason: 'not_found' });
    await expect(door.confirm(staged, { network: 'net-c' })).rejects.toMatchObject(refused(3_600));
    await door.confirm(staged, { network: 'net-d' });
  });

  test('new merchants are limited over all networks; what fails by itself uses nothing of it', async () => {
    // Move to an hour in which nothing has been counted yet.
    clock.set(NOON + 10 * 3_600_000);
    door = registerCaller(market({ registration_per_hour: 2 }));
    const stages = await Promise.all(['one', 'two', 'three'].map((name) => door.stage(`limit-all-${name}`)));
    const [one, two, three] = stages;
    if (one === undefined || two === undefined || three === undefined) throw new Error('three stages');
    await expect(door.confirm(one, { bearer: two.merchant_key })).rejects.toMatchObject({ reason: 'key_invalid' });
    await expect(door.confirm(one, { handle: 'admin' })).rejects.toMatchObject({ reason: 'handle_reserved' });
    await door.confirm(one, { network: 'net-e' });
    await door.confirm(two, { network: 'net-f' });
    await expect(door.confirm(three, { network: 'net-g' })).rejects.toMatchObject(refused(3_600));
    expect(await registered('limit-all-three')).toBeNull();
  });

  test('a closed door refuses every step before anything is counted', async () => {
    const staged = await door.stage('closed-door');
    const { config } = market();
    const closed = registerCaller({ ...market(), config: { ...config, openIdentityEndpoints: new Set() } });
    const shut = { reason: 'door_closed', row: { status: 503 } };
    const counters = sql`select * from rate_counters order by name, subject, window_start`;
    const before = await db.database.rows(counters);
    await expect(closed.stage('closed-door-2')).rejects.toMatchObject(shut);
    await expect(closed.confirm(staged)).rejects.toMatchObject(shut);
    await expect(closed.post({ action: 'cancel', ...open(staged) })).rejects.toMatchObject(shut);
    expect(await db.database.rows(counters)).toEqual(before);
  });
});
