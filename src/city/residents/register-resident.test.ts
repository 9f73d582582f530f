import fc from 'fast-check';
import sql, { raw } from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { askCity, cityContext } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { type SettableClock, settableClock } from '../../../test/support/market-context.ts';
import { type CityLimits, cityEndpoints } from '../../contract/city.ts';
import { foldHandle } from '../../contract/handles.ts';
import { isMerchantKey } from '../../platform/secrets.ts';
import type { City } from '../context.ts';
import { authenticate, registerResident } from '../create-city.ts';

interface StagedResident {
  session: string;
  csrf: string;
  merchant_key: string;
  expires_at: string;
}

const endpoint = cityEndpoints.registerResident;

/** The city's door as a client meets it. */
function cityDoor(city: City) {
  const post = (given: unknown, from: { bearer?: string; network?: string } = {}) =>
    askCity(city, endpoint, registerResident, { body: endpoint.body.parse(given), ...from });
  return {
    post,
    stage: async (handle: string, network?: string): Promise<StagedResident> => {
      const given = { handle, model: 'test', client_class: 'coding_ephemeral', human_approved: true };
      const { body } = await post({ action: 'stage', ...given }, network === undefined ? {} : { network });
      if (body.status !== 'staged') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    confirm: async (staged: StagedResident, more: { handle?: string; bearer?: string; network?: string } = {}) => {
      const { handle, bearer = staged.merchant_key, network } = more;
      const { session, csrf } = staged;
      const { body } = await post(
        { action: 'confirm', session, csrf, ...(handle === undefined ? {} : { handle }) },
        { bearer, ...(network === undefined ? {} : { network }) },
      );
      if (body.status !== 'confirmed') throw new Error(`unexpected answer ${body.status}`);
      return body;
    },
    cancel: ({ session, csrf }: Pick<StagedResident, 'session' | 'csrf'>) => post({ action: 'cancel', session, csrf }),
  };
}

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const QUARTER_MS = 15 * 60_000;
const db = testDatabase({ site: 'city' });
let clock: SettableClock;
let door: ReturnType<typeof cityDoor>;

const city = (limits: Partial<CityLimits> = {}) => cityContext({ database: db.database, clock, limits });

beforeEach(() => {
  clock = settableClock(NOON);
  door = cityDoor(city());
});

const residents = (): Promise<{ id: bigint; handle: string }[]> =>
  db.database.rows(sql`select id, handle from residents order by id`);
const reasonsOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.reason] : []));

describe('stage', () => {
  test('shows a key and the end of the stage, and makes no resident yet', async () => {
    const staged = await door.stage('stage-alice');
    expect(staged.expires_at).toBe('2030-01-01T12:15:00.000Z');
    expect(isMerchantKey(staged.merchant_key, 'city')).toBe(true);
    expect(await authenticate(city(), staged.merchant_key)).toBeNull();
    expect(await residents()).toEqual([]);
  });

  test('refuses what is reserved, and a handle that looks like a resident’s', async () => {
    await door.confirm(await door.stage('owner-one'));
    for (const handle of [
      'admin',
      '0fficial',
      'tr-easury',
      'city-support',
      'treasury-refunds',
      'moderators',
      'secur1ty-desk',
    ])
      await expect(door.stage(handle)).rejects.toMatchObject({ reason: 'handle_reserved' });
    for (const handle of ['owner-one', '0wner-0ne', 'owner--one', 'ownerone', 'ovvn3r-one'])
      await expect(door.stage(handle)).rejects.toMatchObject({ reason: 'handle_taken' });
  });

  test('a resident of before keeps its handle beside one that looks like it, and no new one comes beside them', async () => {
    for (const handle of ['jill-one', 'j-ill-one'])
      await db.database.run(sql`
        insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
        values ((select coalesce(max(id), 0) + 1 from residents), ${handle}, ${handle}, 'a model', 'coding_persistent',
          sha256(convert_to(${handle}, 'UTF8')), 1, now())`);
    await expect(door.stage('ji11-one')).rejects.toMatchObject({
      reason: 'handle_taken',
      options: { detail: expect.stringContaining('looks like jill-one') },
    });
  });

  test('clears away what ended a week ago without a resident', async () => {
    const expired = await door.stage('sweep-expired');
    const confirmed = await door.stage('sweep-confirmed');
    await door.confirm(confirmed);
    clock.set(NOON + 7 * 86_400_000 + QUARTER_MS + 1);
    await door.stage('sweep-later');
    await expect(door.confirm(expired)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(door.confirm(confirmed)).rejects.toMatchObject({ reason: 'stage_closed' });
  });
});

describe('confirm', () => {
  test('makes the resident, whose key opens from then on', async () => {
    const staged = await door.stage('confirm-alice');
    const confirmed = await door.confirm(staged);
    expect(confirmed).toEqual({ status: 'confirmed', resident_id: confirmed.resident_id, handle: 'confirm-alice' });
    expect(await authenticate(city(), staged.merchant_key)).toEqual({
      id: BigInt(confirmed.resident_id),
      handle: 'confirm-alice',
    });
  });

  test('refuses no key, a wrong one and two different ones, and stays open for the right one', async () => {
    const staged = await door.stage('key-rules');
    const other = await door.stage('key-rules-2');
    const { session, csrf, merchant_key: key } = staged;
    const confirm = { action: 'confirm', session, csrf };
    await expect(door.post(confirm)).rejects.toMatchObject({ reason: 'key_required', row: { status: 401 } });
    const wrong = [
      () => door.confirm(staged, { bearer: other.merchant_key }),
      () => door.confirm(staged, { bearer: 'nonsense' }),
      () => door.post({ ...confirm, merchant_key: other.merchant_key }),
      () => door.post({ ...confirm, merchant_key: other.merchant_key }, { bearer: key }),
    ];
    for (const attempt of wrong) await expect(attempt()).rejects.toMatchObject({ reason: 'key_invalid' });
    await door.post({ ...confirm, merchant_key: key });
    expect(await authenticate(city(), key)).toMatchObject({ handle: 'key-rules' });
  });

  test('answers an unknown session and a wrong csrf alike', async () => {
    const staged = await door.stage('csrf-rules');
    for (const changes of [{ session: 'unknown' }, { csrf: 'wrong' }]) {
      await expect(door.confirm({ ...staged, ...changes })).rejects.toMatchObject({ reason: 'not_found' });
      await expect(door.cancel({ ...staged, ...changes })).rejects.toMatchObject({ reason: 'not_found' });
    }
    await door.confirm(staged);
  });

  test('works until the last millisecond of the stage and not after', async () => {
    const [late, justInTime] = [await door.stage('too-late'), await door.stage('just-in-time')];
    clock.set(NOON + QUARTER_MS - 1);
    await door.confirm(justInTime);
    clock.set(NOON + QUARTER_MS);
    await expect(door.confirm(late)).rejects.toMatchObject({ reason: 'stage_closed', row: { status: 409 } });
  });

  test('20 at once for one session make one resident; the others find the stage closed', async () => {
    const staged = await door.stage('twenty');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => door.confirm(staged)));
    expect(reasonsOf(outcomes)).toEqual(Array.from({ length: 19 }, () => 'stage_closed'));
    expect((await residents()).filter(({ handle }) => handle === 'twenty')).toHaveLength(1);
    await expect(door.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
  });

  test('of 20 stages for one handle the first confirm takes it, and another may take another', async () => {
    const stages = await Promise.all(Array.from({ length: 20 }, () => door.stage('wanted')));
    const outcomes = await Promise.allSettled(stages.map((staged) => door.confirm(staged)));
    expect(reasonsOf(outcomes)).toEqual(Array.from({ length: 19 }, () => 'handle_taken'));
    const loser = stages.find((_, at) => outcomes[at]?.status === 'rejected') ?? stages[0];
    if (loser === undefined) throw new Error('one of them lost');
    expect(await door.confirm(loser, { handle: 'wanted-too' })).toMatchObject({ handle: 'wanted-too' });
    expect(await authenticate(city(), loser.merchant_key)).toMatchObject({ handle: 'wanted-too' });
  });

  test('ids have no gap', async () => {
    const stages = await Promise.all(Array.from({ length: 10 }, (_, index) => door.stage(`ordered-${index}`)));
    await Promise.all(stages.map((staged) => door.confirm(staged)));
    const ids = (await residents()).map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, index) => BigInt(index + 1)));
  });
});

describe('cancel', () => {
  test('ends the stage, and again without complaint', async () => {
    const staged = await door.stage('cancel-me');
    for (let time = 0; time < 2; time += 1) expect((await door.cancel(staged)).body).toEqual({ status: 'canceled' });
    await expect(door.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
  });

  test('does not undo a resident', async () => {
    const staged = await door.stage('cancel-late');
    await door.confirm(staged);
    await expect(door.cancel(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
    expect(await authenticate(city(), staged.merchant_key)).not.toBeNull();
  });

  test('against a confirm at the same time one of the two holds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const staged = await door.stage(`cancel-race-${round}`);
      const [confirmed, canceled] = await Promise.allSettled([door.confirm(staged), door.cancel(staged)]);
      expect([confirmed.status, canceled.status].sort()).toEqual(['fulfilled', 'rejected']);
      expect((await authenticate(city(), staged.merchant_key)) !== null).toBe(confirmed.status === 'fulfilled');
    }
  });
});

describe('limits', () => {
  const refused = { reason: 'rate_limited', row: { status: 429 } };

  test('stages and confirms are limited per network, refused ones too', async () => {
    door = cityDoor(city({ registration_per_ip_hour: 2, confirm_per_ip_hour: 2 }));
    const staged = await door.stage('limit-one', 'net-a');
    await expect(door.stage('admin', 'net-a')).rejects.toMatchObject({ reason: 'handle_reserved' });
    await expect(door.stage('limit-two', 'net-a')).rejects.toMatchObject(refused);
    await door.stage('limit-two', 'net-b');
    for (let time = 0; time < 2; time += 1)
      await expect(door.confirm({ ...staged, session: 'unknown' }, { network: 'net-a' })).rejects.toMatchObject({
        reason: 'not_found',
      });
    await expect(door.confirm(staged, { network: 'net-a' })).rejects.toMatchObject(refused);
    await door.confirm(staged, { network: 'net-b' });
  });

  test('new residents are limited over all networks; what fails by itself uses nothing of it', async () => {
    clock.set(NOON + 10 * 3_600_000);
    door = cityDoor(city({ registration_per_hour: 1 }));
    const [one, two] = [await door.stage('limit-all-1'), await door.stage('limit-all-2')];
    await expect(door.confirm(one, { bearer: two.merchant_key })).rejects.toMatchObject({ reason: 'key_invalid' });
    await door.confirm(one);
    await expect(door.confirm(two)).rejects.toMatchObject(refused);
  });
});

test('neither key nor session nor csrf are anywhere in the database, staged or confirmed', async () => {
  const [confirmed, open] = [await door.stage('at-rest-confirmed'), await door.stage('at-rest-staged')];
  await door.confirm(confirmed);
  const stored: string[] = [];
  for (const table of ['residents', 'resident_stages', 'rate_counters']) {
    const rows = await db.database.rows<{ row: string }>(sql`select row_to_json(t)::text as row from ${raw(table)} t`);
    // Bytes are shown as hex there.
    stored.push(...rows.map(({ row }) => row));
  }
  const all = stored.join('\n');
  expect(all).toContain('at-rest-confirmed');
  expect(all).toContain('at-rest-staged');
  for (const { merchant_key: key, session, csrf } of [confirmed, open]) {
    for (const secret of [key.slice('city_sk_'.length), session, csrf]) {
      expect(all).not.toContain(secret);
      expect(all).not.toContain(Buffer.from(secret).toString('hex'));
      expect(all).not.toContain(Buffer.from(secret, 'base64url').toString('hex'));
    }
  }
});

test('the database folds handles as this code does', async () => {
  const crowded = fc.string({ unit: fc.constantFrom(...'mnrnnclidj1vw-023457889gq'), minLength: 1, maxLength: 32 });
  const handles = fc.sample(crowded, 2_000);
  const folded = await db.database.rows<{ folded: string }>(
    sql`select fold_handle(handle) as folded from unnest(${handles}::text[]) with ordinality given (handle, n) order by n`,
  );
  expect(folded.map((row) => row.folded)).toEqual(handles.map(foldHandle));
});
