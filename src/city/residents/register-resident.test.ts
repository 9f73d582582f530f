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
import { findResidentByKey, registerResident } from '../create-city.ts';

interface StagedResident {
  session: string;
  csrf: string;
  merchant_key: string;
  expires_at: string;
}

const endpoint = cityEndpoints.registerResident;

/** Calls the registration endpoint like a client. */
function cityRegistration(city: City) {
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
let registration: ReturnType<typeof cityRegistration>;

const city = (limits: Partial<CityLimits> = {}) => cityContext({ database: db.database, clock, limits });

beforeEach(() => {
  clock = settableClock(NOON);
  registration = cityRegistration(city());
});

const residents = (): Promise<{ id: bigint; handle: string }[]> =>
  db.database.rows(sql`select id, handle from residents order by id`);
const reasonsOf = (outcomes: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.reason] : []));

describe('stage', () => {
  test('shows a key and the end of the stage, and makes no resident yet', async () => {
    const staged = await registration.stage('stage-alice');
    expect(staged.expires_at).toBe('2030-01-01T12:15:00.000Z');
    expect(isMerchantKey(staged.merchant_key, 'city')).toBe(true);
    expect(await findResidentByKey(city(), staged.merchant_key)).toBeNull();
    expect(await residents()).toEqual([]);
  });

  test('refuses what is reserved, and a handle that looks like a resident’s', async () => {
    await registration.confirm(await registration.stage('owner-one'));
    for (const handle of [
      'admin',
      '0fficial',
      'tr-easury',
      'city-support',
      'treasury-refunds',
      'moderators',
      'secur1ty-desk',
    ])
      await expect(registration.stage(handle)).rejects.toMatchObject({ reason: 'handle_reserved' });
    for (const handle of ['owner-one', '0wner-0ne', 'owner--one', 'ownerone', 'ovvn3r-one'])
      await expect(registration.stage(handle)).rejects.toMatchObject({ reason: 'handle_taken' });
  });

  test('a resident of before keeps its handle beside one that looks like it, and no new one comes beside them', async () => {
    for (const handle of ['jill-one', 'j-ill-one'])
      await db.database.run(sql`
        insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
        values ((select coalesce(max(id), 0) + 1 from residents), ${handle}, ${handle}, 'a model', 'coding_persistent',
          sha256(convert_to(${handle}, 'UTF8')), 1, now())`);
    await expect(registration.stage('ji11-one')).rejects.toMatchObject({
      reason: 'handle_taken',
      options: { detail: expect.stringContaining('looks like jill-one') },
    });
  });

  test('clears away what ended a week ago without a resident', async () => {
    const expired = await registration.stage('sweep-expired');
    const confirmed = await registration.stage('sweep-confirmed');
    await registration.confirm(confirmed);
    clock.set(NOON + 7 * 86_400_000 + QUARTER_MS + 1);
    await registration.stage('sweep-later');
    await expect(registration.confirm(expired)).rejects.toMatchObject({ reason: 'not_found' });
    await expect(registration.confirm(confirmed)).rejects.toMatchObject({ reason: 'stage_closed' });
  });
});

describe('confirm', () => {
  test('makes the resident, whose key opens from then on', async () => {
    const staged = await registration.stage('confirm-alice');
    const confirmed = await registration.confirm(staged);
    expect(confirmed).toEqual({ status: 'confirmed', resident_id: confirmed.resident_id, handle: 'confirm-alice' });
    expect(await findResidentByKey(city(), staged.merchant_key)).toEqual({
      id: BigInt(confirmed.resident_id),
      handle: 'confirm-alice',
    });
  });

  test('refuses no key, a wrong one and two different ones, and stays open for the right one', async () => {
    const staged = await registration.stage('key-rules');
    const other = await registration.stage('key-rules-2');
    const { session, csrf, merchant_key: key } = staged;
    const confirm = { action: 'confirm', session, csrf };
    await expect(registration.post(confirm)).rejects.toMatchObject({ reason: 'key_required', row: { status: 401 } });
    const wrong = [
      () => registration.confirm(staged, { bearer: other.merchant_key }),
      () => registration.confirm(staged, { bearer: 'nonsense' }),
      () => registration.post({ ...confirm, merchant_key: other.merchant_key }),
      () => registration.post({ ...confirm, merchant_key: other.merchant_key }, { bearer: key }),
    ];
    for (const attempt of wrong) await expect(attempt()).rejects.toMatchObject({ reason: 'key_invalid' });
    await registration.post({ ...confirm, merchant_key: key });
    expect(await findResidentByKey(city(), key)).toMatchObject({ handle: 'key-rules' });
  });

  test('answers an unknown session and a wrong csrf alike', async () => {
    const staged = await registration.stage('csrf-rules');
    for (const changes of [{ session: 'unknown' }, { csrf: 'wrong' }]) {
      await expect(registration.confirm({ ...staged, ...changes })).rejects.toMatchObject({ reason: 'not_found' });
      await expect(registration.cancel({ ...staged, ...changes })).rejects.toMatchObject({ reason: 'not_found' });
    }
    await registration.confirm(staged);
  });

  test('works until the last millisecond of the stage and not after', async () => {
    const [late, justInTime] = [await registration.stage('too-late'), await registration.stage('just-in-time')];
    clock.set(NOON + QUARTER_MS - 1);
    await registration.confirm(justInTime);
    clock.set(NOON + QUARTER_MS);
    await expect(registration.confirm(late)).rejects.toMatchObject({ reason: 'stage_closed', row: { status: 409 } });
  });

  test('20 at once for one session make one resident; the others find the stage closed', async () => {
    const staged = await registration.stage('twenty');
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => registration.confirm(staged)));
    expect(reasonsOf(outcomes)).toEqual(Array.from({ length: 19 }, () => 'stage_closed'));
    expect((await residents()).filter(({ handle }) => handle === 'twenty')).toHaveLength(1);
    await expect(registration.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
  });

  test('of 20 stages for one handle the first confirm takes it, and another may take another', async () => {
    const stages = await Promise.all(Array.from({ length: 20 }, () => registration.stage('wanted')));
    const outcomes = await Promise.allSettled(stages.map((staged) => registration.confirm(staged)));
    expect(reasonsOf(outcomes)).toEqual(Array.from({ length: 19 }, () => 'handle_taken'));
    const loser = stages.find((_, at) => outcomes[at]?.status === 'rejected') ?? stages[0];
    if (loser === undefined) throw new Error('one of them lost');
    expect(await registration.confirm(loser, { handle: 'wanted-too' })).toMatchObject({ handle: 'wanted-too' });
    expect(await findResidentByKey(city(), loser.merchant_key)).toMatchObject({ handle: 'wanted-too' });
  });

  test('ids have no gap', async () => {
    const stages = await Promise.all(Array.from({ length: 10 }, (_, index) => registration.stage(`ordered-${index}`)));
    await Promise.all(stages.map((staged) => registration.confirm(staged)));
    const ids = (await residents()).map(({ id }) => id);
    expect(ids).toEqual(ids.map((_, index) => BigInt(index + 1)));
  });
});

describe('cancel', () => {
  test('ends the stage, and again without complaint', async () => {
    const staged = await registration.stage('cancel-me');
    for (let time = 0; time < 2; time += 1)
      expect((await registration.cancel(staged)).body).toEqual({ status: 'canceled' });
    await expect(registration.confirm(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
  });

  test('does not undo a resident', async () => {
    const staged = await registration.stage('cancel-late');
    await registration.confirm(staged);
    await expect(registration.cancel(staged)).rejects.toMatchObject({ reason: 'stage_closed' });
    expect(await findResidentByKey(city(), staged.merchant_key)).not.toBeNull();
  });

  test('against a confirm at the same time one of the two holds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const staged = await registration.stage(`cancel-race-${round}`);
      const [confirmed, canceled] = await Promise.allSettled([
        registration.confirm(staged),
        registration.cancel(staged),
      ]);
      expect([confirmed.status, canceled.status].sort()).toEqual(['fulfilled', 'rejected']);
      expect((await findResidentByKey(city(), staged.merchant_key)) !== null).toBe(confirmed.status === 'fulfilled');
    }
  });
});

describe('limits', () => {
  const refused = { reason: 'rate_limited', row: { status: 429 } };

  test('stages and confirms are limited per network, refused ones too', async () => {
    registration = cityRegistration(city({ registration_per_ip_hour: 2, confirm_per_ip_hour: 2 }));
    const staged = await registration.stage('limit-one', 'net-a');
    await expect(registration.stage('admin', 'net-a')).rejects.toMatchObject({ reason: 'handle_reserved' });
    await expect(registration.stage('limit-two', 'net-a')).rejects.toMatchObject(refused);
    await registration.stage('limit-two', 'net-b');
    for (let time = 0; time < 2; time += 1)
      await expect(registration.confirm({ ...staged, session: 'unknown' }, { network: 'net-a' })).rejects.toMatchObject(
        {
          reason: 'not_found',
        },
      );
    await expect(registration.confirm(staged, { network: 'net-a' })).rejects.toMatchObject(refused);
    await registration.confirm(staged, { network: 'net-b' });
  });

  test('new residents are limited over all networks; what fails by itself uses nothing of it', async () => {
    clock.set(NOON + 10 * 3_600_000);
    registration = cityRegistration(city({ registration_per_hour: 1 }));
    const [one, two] = [await registration.stage('limit-all-1'), await registration.stage('limit-all-2')];
    await expect(registration.confirm(one, { bearer: two.merchant_key })).rejects.toMatchObject({
      reason: 'key_invalid',
    });
    await registration.confirm(one);
    await expect(registration.confirm(two)).rejects.toMatchObject(refused);
  });
});

test('neither key nor session nor csrf are anywhere in the database, staged or confirmed', async () => {
  const [confirmed, open] = [await registration.stage('at-rest-confirmed'), await registration.stage('at-rest-staged')];
  await registration.confirm(confirmed);
  const stored: string[] = [];
  for (const table of ['residents', 'resident_stages', 'rate_counters']) {
    const rows = await db.database.rows<{ row: string }>(sql`select row_to_json(t)::text as row from ${raw(table)} t`);
    // Bytes are shown as hex in this text.
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
