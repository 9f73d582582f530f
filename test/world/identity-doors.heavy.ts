import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makePairingCode, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { testDatabase } from '../support/database.ts';
import { codeOf, type Doors, type IdentityClient, identityClient, startDoors } from '../support/identity-doors.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import type { Answer } from '../support/market-world.ts';

// Tests the identity endpoints over HTTP, with one test for each rule.

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 3_600_000;
const db = testDatabase();
let clock: SettableClock;
let doors: Doors;
let client: IdentityClient;
let count = 0;

beforeAll(async () => {
  clock = settableClock(NOON);
  doors = await startDoors({ database: db.database, databaseUrl: db.url, clock });
  client = identityClient(doors.ask);
});
afterAll(() => doors.stop());
beforeEach(() => clock.set(NOON));

const join = () => {
  count += 1;
  return client.join(`owner-${count}`);
};
const reasonOf = ({ status, body }: Answer) => ({ status, reason: body['reason'] });
const CLOSED = { status: 409, reason: 'stage_closed' };
const REFUSED = { status: 403, reason: 'recovery_code_refused' };
const DEAD = { status: 401, reason: 'key_invalid' };
const eventsOf = (kind: string, handle: string) =>
  db.database.rows<{ canonical: string }>(sql`
    select convert_from(canonical, 'UTF8') as canonical from events
    where kind = ${kind} and convert_from(canonical, 'UTF8')::json ->> 'actor' = ${handle}`);

async function grant(merchantId: number): Promise<string> {
  const id = randomUUID();
  await db.database.run(sql`
    insert into hosted_grants (id, merchant_id, granted_at, oauth_grant, client_id, redirect_host, scopes, proved_by)
    values (${id}, ${merchantId}, ${new Date(clock.now())}, ${id}, 'made-up', '127.0.0.1', '{market:read}', 'key')`);
  return id;
}
const isRevoked = async (id: string): Promise<boolean> =>
  (
    await db.database.one<{ revoked: boolean }>(
      sql`select revoked_at is not null as revoked from hosted_grants where id = ${id}`,
    )
  ).revoked;
const pairingEnds = (merchantId: number) =>
  db.database.rows<{ ended_as: string | null }>(
    sql`select ended_as from pairing_codes where merchant_id = ${merchantId}`,
  );

describe('rotate', () => {
  test('begin shows a key that opens nothing yet; the old one is the key until the confirm, and dead from then on', async () => {
    const owner = await join();
    const begun = await client.must('rotate', { action: 'begin' }, { key: owner.key });
    const key = String(begun['merchant_key']);
    expect(begun).toEqual({
      ...{ status: 'staged', handle: owner.handle, session: expect.any(String), csrf: expect.any(String) },
      ...{ merchant_key: expect.stringMatching(/^aisle_sk_/), expires_at: '2030-01-01T12:15:00.000Z' },
    });
    expect(reasonOf(await client.me(key))).toEqual(DEAD);
    expect(await client.isAlive(owner.key)).toBe(true);
    const { session, csrf } = begun;
    expect(await client.must('rotate', { action: 'confirm', session, csrf }, { key })).toEqual({
      ...{ status: 'confirmed', merchant_id: owner.id, handle: owner.handle },
    });
    expect(reasonOf(await client.me(owner.key))).toEqual(DEAD);
    expect(await client.isAlive(key)).toBe(true);
    expect(reasonOf(await client.post('rotate', { action: 'confirm', session, csrf }, { key }))).toEqual(CLOSED);
    const [event, ...more] = await eventsOf('rotate', owner.handle);
    expect(more).toEqual([]);
    expect(JSON.parse(event?.canonical ?? '')).toMatchObject({ kind: 'rotate', detail: { merchant_id: owner.id } });
  });

  test('the codes stay', async () => {
    const owner = await join();
    await client.mustConfirm('rotate', await client.rotation(owner.key));
    expect(await client.recovery(codeOf(owner, 3))).toMatchObject({ status: 'staged', handle: owner.handle });
  });

  test('at its confirm every other stage, pairing code and grant of that merchant dies, and none of another merchant', async () => {
    const [owner, other] = [await join(), await join()];
    const stages = [await client.rotation(owner.key), await client.rotation(owner.key)] as const;
    const recovery = await client.recovery(codeOf(owner, 0));
    const foreign = { rotation: await client.rotation(other.key), grant: await grant(other.id) };
    for (const { key } of [owner, other]) await client.must('pair', {}, { key });
    const own = await grant(owner.id);
    await client.mustConfirm('rotate', stages[0]);
    expect(reasonOf(await client.confirm('rotate', stages[1]))).toEqual(CLOSED);
    expect(reasonOf(await client.confirm('recovery', recovery))).toEqual(CLOSED);
    expect([await isRevoked(own), await isRevoked(foreign.grant)]).toEqual([true, false]);
    expect(await pairingEnds(owner.id)).toEqual([{ ended_as: 'revoked' }]);
    expect(await pairingEnds(other.id)).toEqual([{ ended_as: null }]);
    await client.mustConfirm('rotate', foreign.rotation);
  });

  test('a stage that was begun with a key of the past is over, even one that a race left open', async () => {
    const owner = await join();
    const stages = [await client.rotation(owner.key), await client.rotation(owner.key)] as const;
    await client.mustConfirm('rotate', stages[0]);
    // Reopen the staged change, as if it had been written just after the confirmation closed all open ones.
    await db.database.run(
      sql`update identity_stages set closed_at = null, closed_as = null where closed_as = 'superseded'`,
    );
    expect(reasonOf(await client.confirm('rotate', stages[1]))).toEqual(CLOSED);
    expect(await client.isAlive(stages[0].merchant_key)).toBe(true);
  });

  test('waiting codes end with the key that made them', async () => {
    const owner = await join();
    const made = await client.generate(owner.key);
    const rotation = await client.rotation(owner.key);
    await client.mustConfirm('rotate', rotation);
    expect((await client.me(rotation.merchant_key)).body['pending_codes']).toBeNull();
    clock.set(NOON + 73 * HOUR);
    const [code] = made['recovery_codes'] as string[];
    expect(reasonOf(await client.post('recovery', { action: 'begin', recovery_code: code }))).toEqual(REFUSED);
    await client.recovery(codeOf(owner, 0));
  });

  test('without a key, with a wrong one, a staged one or a code it begins nothing', async () => {
    const owner = await join();
    const { merchant_key } = await client.rotation(owner.key);
    expect(reasonOf(await client.post('rotate', { action: 'begin' }))).toEqual({ status: 401, reason: 'key_required' });
    expect(reasonOf(await client.post('rotate', { action: 'begin' }, { key: merchant_key }))).toEqual(DEAD);
    const code = await client.post('rotate', { action: 'begin' }, { key: codeOf(owner, 0) });
    expect(reasonOf(code)).toEqual({ status: 400, reason: 'secret_in_payload' });
  });

  test('cancel ends the stage, again without complaint, and leaves the key; a stage belongs to its door', async () => {
    const owner = await join();
    const rotation = await client.rotation(owner.key);
    for (const door of ['register', 'recovery']) {
      expect(reasonOf(await client.confirm(door, rotation))).toEqual({ status: 404, reason: 'not_found' });
      expect(reasonOf(await client.cancel(door, rotation))).toEqual({ status: 404, reason: 'not_found' });
    }
    for (let time = 0; time < 2; time += 1)
      expect((await client.cancel('rotate', rotation)).body).toEqual({ status: 'canceled' });
    expect(reasonOf(await client.confirm('rotate', rotation))).toEqual(CLOSED);
    expect(await client.isAlive(owner.key)).toBe(true);
  });

  test('a stage lives fifteen minutes', async () => {
    const owner = await join();
    const rotation = await client.rotation(owner.key);
    clock.set(NOON + 15 * MINUTE);
    expect(reasonOf(await client.confirm('rotate', rotation))).toEqual(CLOSED);
    clock.set(NOON + 15 * MINUTE - 1);
    await client.mustConfirm('rotate', rotation);
  });
});

describe('recovery', () => {
  test('a code in any case, with space around it, shows a new key and eight new codes; until the confirm all is as it was', async () => {
    const owner = await join();
    for (const spelled of [codeOf(owner, 1), ` ${codeOf(owner, 2).toLowerCase()}\n`, codeOf(owner, 3).toUpperCase()]) {
      const begun = await client.recovery(spelled);
      expect(begun).toMatchObject({ handle: owner.handle, expires_at: '2030-01-01T12:15:00.000Z' });
      expect(new Set([...begun.recovery_codes, ...owner.codes]).size).toBe(16);
    }
    expect(await client.isAlive(owner.key)).toBe(true);
    await client.recovery(codeOf(owner, 1));
  });

  test('its confirm puts key and codes in force, burns the whole old set, and ends key, stages, pairing codes and grants', async () => {
    const owner = await join();
    const begun = await client.recovery(codeOf(owner, 0));
    const rivals = { rotate: await client.rotation(owner.key), recovery: await client.recovery(codeOf(owner, 1)) };
    await client.must('pair', {}, { key: owner.key });
    const own = await grant(owner.id);
    await client.mustConfirm('recovery', begun);
    expect(reasonOf(await client.me(owner.key))).toEqual(DEAD);
    expect(await client.isAlive(begun.merchant_key)).toBe(true);
    for (const recovery_code of owner.codes)
      expect(reasonOf(await client.post('recovery', { action: 'begin', recovery_code }))).toEqual(REFUSED);
    for (const [door, stage] of Object.entries(rivals))
      expect(reasonOf(await client.confirm(door, stage))).toEqual(CLOSED);
    expect([await isRevoked(own), await pairingEnds(owner.id)]).toEqual([true, [{ ended_as: 'revoked' }]]);
    expect(await eventsOf('recover', owner.handle)).toHaveLength(1);
    expect(reasonOf(await client.confirm('recovery', begun))).toEqual(CLOSED);
    await client.recovery(codeOf({ codes: begun.recovery_codes }, 7));
  });

  test('whatever fails as a code gets one answer: malformed, unknown, burned, replaced, waiting, canceled', async () => {
    const [burned, replaced, waiting, canceled] = [await join(), await join(), await join(), await join()];
    await client.mustConfirm('recovery', await client.recovery(codeOf(burned, 0)));
    await client.generate(replaced.key, codeOf(replaced, 0));
    const made = await client.generate(waiting.key);
    const gone = await client.generate(canceled.key);
    await client.recovery(codeOf(canceled, 0));
    const right = codeOf(canceled, 1);
    const codes = [
      ...[
        '',
        ' ',
        'nonsense',
        '\u0000',
        'é'.repeat(10_000),
        right.slice(0, -1),
        `${right}0`,
        right.replaceAll('-', ''),
      ],
      ...[right.replace('aisle', 'wrong'), right.replace('_rc_', '_xx_'), makeRecoveryCode(systemRandom, 'city')],
      ...[makeRecoveryCode(systemRandom, 'aisle'), codeOf(burned, 0), codeOf(burned, 1), codeOf(replaced, 0)],
      ...[
        codeOf({ codes: made['recovery_codes'] as string[] }, 0),
        codeOf({ codes: gone['recovery_codes'] as string[] }, 0),
      ],
    ];
    const answers = new Set<string>();
    for (const recovery_code of codes) {
      const answer = await client.post('recovery', { action: 'begin', recovery_code });
      expect(reasonOf(answer), recovery_code.slice(0, 40)).toEqual(REFUSED);
      const { request_id, ...body } = answer.body;
      const names = [...answer.headers.keys()].filter(
        (name) => !['date', 'x-request-id', 'content-length'].includes(name),
      );
      answers.add(JSON.stringify([body, names, answer.headers.get('content-length')]));
      expect(request_id).toBe(answer.headers.get('x-request-id'));
    }
    expect([...answers]).toHaveLength(1);
    for (const recovery_code of [makePairingCode(systemRandom, 'aisle'), waiting.key]) {
      const answer = await client.post('recovery', { action: 'begin', recovery_code });
      expect(reasonOf(answer)).toEqual({ status: 400, reason: 'secret_in_payload' });
    }
  });

  test('a confirm works only while the set that began it is current', async () => {
    const owner = await join();
    const begun = await client.recovery(codeOf(owner, 0));
    const made = await client.generate(owner.key, codeOf(owner, 0));
    expect(reasonOf(await client.confirm('recovery', begun))).toEqual(CLOSED);
    expect(await client.isAlive(owner.key)).toBe(true);
    const [code = ''] = made['recovery_codes'] as string[];
    await client.mustConfirm('recovery', await client.recovery(code));
  });

  test('a code works at once also where the clock is behind that of the process that made it', async () => {
    const owner = await join();
    clock.set(NOON - 5_000);
    await client.mustConfirm('recovery', await client.recovery(codeOf(owner, 0)));
  });
});

describe('generate', () => {
  const begin = (recovery_code: string | undefined) => client.post('recovery', { action: 'begin', recovery_code });

  test('with a code in force: eight new codes at once, the old eight are over, the key stays', async () => {
    const owner = await join();
    const made = await client.generate(owner.key, codeOf(owner, 5).toLowerCase());
    const codes = made['recovery_codes'] as string[];
    expect(made).toMatchObject({ status: 'generated', valid: 'now', valid_from: '2030-01-01T12:00:00.000Z' });
    expect(new Set(codes).size).toBe(8);
    for (const code of owner.codes) expect(reasonOf(await begin(code))).toEqual(REFUSED);
    expect(await client.isAlive(owner.key)).toBe(true);
    expect((await client.me(owner.key)).body['pending_codes']).toBeNull();
    await client.recovery(codeOf({ codes }, 0));
  });

  test('a code of another merchant, one that is over or none at all changes nothing', async () => {
    const [owner, other] = [await join(), await join()];
    for (const recovery_code of [codeOf(other, 0), 'nonsense', makeRecoveryCode(systemRandom, 'aisle')]) {
      const answer = await client.post('recovery', { action: 'generate', recovery_code }, { key: owner.key });
      expect(reasonOf(answer)).toEqual(REFUSED);
    }
    await client.recovery(codeOf(owner, 0));
    await client.recovery(codeOf(other, 0));
    expect(reasonOf(await client.post('recovery', { action: 'generate' }))).toEqual({
      ...{ status: 401, reason: 'key_required' },
    });
  });

  test('with the key alone: shown once, the standing says when, the old set rules until then, and from that very millisecond the new', async () => {
    const owner = await join();
    const made = await client.generate(owner.key);
    const codes = made['recovery_codes'] as string[];
    const validFrom = '2030-01-04T12:00:00.000Z';
    expect(made).toMatchObject({ status: 'generated', valid: 'later', valid_from: validFrom });
    const pending = async () => (await client.me(owner.key)).body['pending_codes'];
    expect(await pending()).toEqual({ valid_at: validFrom });
    clock.set(NOON + 72 * HOUR - 1);
    expect(await pending()).toEqual({ valid_at: validFrom });
    expect(reasonOf(await begin(codes[0]))).toEqual(REFUSED);
    clock.set(NOON + 72 * HOUR);
    expect(await pending()).toBeNull();
    for (const code of owner.codes) expect(reasonOf(await begin(code))).toEqual(REFUSED);
    await client.mustConfirm('recovery', await client.recovery(codeOf({ codes }, 0)));
    for (const code of codes) expect(reasonOf(await begin(code))).toEqual(REFUSED);
  });

  test('a begin with an old code ends codes that wait, also those of a thief who makes them again and again', async () => {
    const owner = await join();
    const stolen: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const made = await client.generate(owner.key);
      stolen.push(...(made['recovery_codes'] as string[]));
      clock.set(clock.now() + 71 * HOUR);
    }
    const begun = await client.recovery(codeOf(owner, 0));
    expect((await client.me(owner.key)).body['pending_codes']).toBeNull();
    stolen.push(...((await client.generate(owner.key))['recovery_codes'] as string[]));
    await client.mustConfirm('recovery', begun);
    clock.set(clock.now() + 100 * HOUR);
    for (const code of [...stolen, ...owner.codes]) expect(reasonOf(await begin(code))).toEqual(REFUSED);
    await client.recovery(codeOf({ codes: begun.recovery_codes }, 0));
  });

  test('made again, the newest wait and the ones before are over', async () => {
    const owner = await join();
    const first = (await client.generate(owner.key))['recovery_codes'] as string[];
    clock.set(NOON + HOUR);
    const second = (await client.generate(owner.key))['recovery_codes'] as string[];
    expect((await client.me(owner.key)).body['pending_codes']).toEqual({ valid_at: '2030-01-04T13:00:00.000Z' });
    clock.set(NOON + 73 * HOUR);
    expect(reasonOf(await begin(first[0]))).toEqual(REFUSED);
    await client.recovery(codeOf({ codes: second }, 0));
  });
});

describe('pair', () => {
  test('a current key gets a code for ten minutes, of which only the hash is kept', async () => {
    const owner = await join();
    const made = await client.must('pair', {}, { key: owner.key });
    expect(made).toEqual({
      ...{
        status: 'created',
        pairing_code: expect.stringMatching(/^aisle_pc_/),
        expires_at: '2030-01-01T12:10:00.000Z',
      },
    });
    expect(await pairingEnds(owner.id)).toEqual([{ ended_as: null }]);
    const { merchant_key } = await client.rotation(owner.key);
    expect(reasonOf(await client.post('pair', {}, { key: merchant_key }))).toEqual(DEAD);
    expect(reasonOf(await client.post('pair', {}))).toEqual({ status: 401, reason: 'key_required' });
  });

  test('codes that ran out a week ago are cleared away', async () => {
    const owner = await join();
    await client.must('pair', {}, { key: owner.key });
    clock.set(NOON + 7 * 24 * HOUR + 10 * MINUTE + 1);
    await client.must('pair', {}, { key: owner.key });
    expect(await pairingEnds(owner.id)).toHaveLength(1);
  });
});

test.each(['register', 'rotate'])('a body without action at %s is the retired flow', async (door) => {
  const owner = await join();
  for (const key of [undefined, owner.key]) {
    const answer = await client.post(door, { handle: 'ada', model: 'm' }, key === undefined ? {} : { key });
    expect(reasonOf(answer)).toEqual({ status: 410, reason: 'retired_flow' });
    expect(answer.body['next_step']).toMatch(/stage|begin/);
  }
  expect(await client.isAlive(owner.key)).toBe(true);
});
