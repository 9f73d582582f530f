import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { marketContext, type SettableClock, settableClock } from '../../../../test/support/market-context.ts';
import { joinMarket, type Member } from '../../../../test/support/market-world.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { sha256 } from '../../../platform/canonical-json.ts';
import { systemRandom } from '../../../platform/random.ts';
import { makeMerchantKey, makePairingCode } from '../../../platform/secrets.ts';
import type { Market, MarketCall } from '../../context.ts';
import { authenticate } from '../../identity/authenticate.ts';
import { pair } from '../../identity/pair.ts';
import { beginRotation, confirmRotation } from '../../identity/rotate.ts';
import { allowAttempt, cancelAttempt, proveAttempt, readAttemptStatus, reopenAttempt, type Shown } from './attempts.ts';

const NOON = Date.parse('2030-01-01T12:00:00.000Z');
const DAY = 86_400_000;
const ROOMY = { pair_tries_per_ip_hour: 1_000, pair_per_merchant_hour: 1_000, confirm_per_ip_hour: 1_000 };
const db = testDatabase();
let clock: SettableClock;
let market: Market;
let owner: Member;
let uid = '';
let count = 0;

beforeEach(async () => {
  clock = settableClock(NOON);
  market = marketContext({ database: db.database, clock, limits: { ...ROOMY, rotation_starts_per_ip_hour: 1_000 } });
  count += 1;
  owner = await joinMarket(db, `prover-${count}`);
  uid = randomUUID();
});

const prove = (shown: Shown, of = uid) => proveAttempt(market, { uid: of, shown, clientNetwork: '192.0.2.1' });
const byKey = (key = owner.key, of = uid) => prove({ key }, of);
const byCode = (pairingCode: string, of = uid) => prove({ pairingCode }, of);
const nobodysKey = () => makeMerchantKey(systemRandom, 'aisle');

async function makeCode({ key }: Member = owner): Promise<string> {
  const caller = await authenticate(market, key);
  if (caller === null) throw new Error('no caller');
  const { body } = await pair(market, { caller, body: {} } as MarketCall<Endpoints['pair']>);
  return body.pairing_code;
}

async function rotate({ key }: Member = owner): Promise<string> {
  const { session, csrf, merchant_key } = await beginRotation(market, key, '192.0.2.1');
  const body = { action: 'confirm' as const, session, csrf };
  await confirmRotation(market, { body, bearer: merchant_key, clientNetwork: '192.0.2.1' });
  return merchant_key;
}

const rowOf = (of = uid) =>
  db.database.maybe<Record<string, unknown>>(sql`select * from connect_proofs where interaction_hash = ${sha256(of)}`);
const currentKey = async ({ id }: Member = owner): Promise<bigint> =>
  (
    await db.database.one<{ id: bigint }>(sql`
      select id from merchant_keys where merchant_id = ${id} and revoked_at is null`)
  ).id;
const endOf = async (code: string) =>
  (
    await db.database.one<{ ended_as: string | null }>(sql`
      select ended_as from pairing_codes where code_hash = ${market.pepper.hash(code)}`)
  ).ended_as;

describe('a key', () => {
  test('proves whose store it is, with the key that is in force, and stands in no column', async () => {
    expect(await byKey()).toEqual({ handle: owner.handle });
    expect(await rowOf()).toMatchObject({
      ...{ merchant_id: owner.id, key_id: await currentKey(), proved_by: 'key', proved_at: new Date(NOON) },
      ...{ wrong_tries: 0, decided_at: null },
    });
    expect(await readAttemptStatus(market, uid)).toEqual({ isOver: false, provenAs: owner.handle });
    const kept = await db.database.one<{ text: string }>(sql`
      select (select string_agg(row_to_json(connect_proofs)::text, ' ') from connect_proofs) as text`);
    expect(kept.text).not.toContain(owner.key.slice(9, 40));
    expect(kept.text).not.toContain(uid);
  });

  test('again is the same proof; of another store it is refused and changes nothing', async () => {
    await byKey();
    expect(await byKey()).toEqual({ handle: owner.handle });
    const other = await joinMarket(db, `other-${count}`);
    expect(await reasonOf(byKey(other.key))).toBe('connection_closed');
    expect(await rowOf()).toMatchObject({ merchant_id: owner.id, wrong_tries: 0 });
  });

  test('an unknown key, a replaced one and anything else are wrong tries', async () => {
    await rotate();
    for (const key of [nobodysKey(), owner.key, 'x']) expect(await reasonOf(byKey(key))).toBe('key_invalid');
    expect(await rowOf()).toMatchObject({ wrong_tries: 3, merchant_id: null });
  });
});

describe('a pairing code', () => {
  test('proves the store once, in any case and with blanks around it, and is used up', async () => {
    const code = await makeCode();
    expect(await byCode(` ${code.toLowerCase()} `)).toEqual({ handle: owner.handle });
    expect(await rowOf()).toMatchObject({
      merchant_id: owner.id,
      key_id: await currentKey(),
      proved_by: 'pairing_code',
    });
    expect(await endOf(code)).toBe('redeemed');
    expect(await reasonOf(byCode(code, randomUUID()))).toBe('pairing_code_refused');
  });

  test('that is unknown, revoked or none at all is refused alike', async () => {
    const revoked = await makeCode();
    await rotate();
    const other = makePairingCode(systemRandom, 'city');
    for (const code of [revoked, makePairingCode(systemRandom, 'aisle'), other, '']) {
      uid = randomUUID();
      expect(await reasonOf(byCode(code))).toBe('pairing_code_refused');
      expect(await rowOf()).toMatchObject({ wrong_tries: 1, merchant_id: null });
    }
    expect(await endOf(revoked)).toBe('revoked');
  });

  test('is good for ten minutes, and not a moment longer', async () => {
    const [timely, late] = [await makeCode(), await makeCode()];
    clock.set(NOON + 599_999);
    expect(await byCode(timely)).toEqual({ handle: owner.handle });
    clock.set(NOON + 600_000);
    expect(await reasonOf(byCode(late, randomUUID()))).toBe('pairing_code_refused');
    expect(await endOf(late)).toBeNull();
  });

  test('shown in ten attempts at once proves one of them', async () => {
    const code = await makeCode();
    const uids = Array.from({ length: 10 }, () => randomUUID());
    const outcomes = await Promise.all(uids.map((of) => reasonOf(byCode(code, of))));
    expect(outcomes.toSorted()).toEqual(['none', ...Array.from({ length: 9 }, () => 'pairing_code_refused')]);
    const proven = await Promise.all(uids.map((of) => readAttemptStatus(market, of)));
    expect(proven.filter(({ provenAs }) => provenAs !== null)).toHaveLength(1);
  });

  test('of another store than the one that was proven is refused, and stays good', async () => {
    await byKey();
    const other = await joinMarket(db, `other-${count}`);
    const code = await makeCode(other);
    expect(await reasonOf(byCode(code))).toBe('connection_closed');
    expect(await endOf(code)).toBeNull();
    expect(await byCode(code, randomUUID())).toEqual({ handle: other.handle });
  });

  test('is accepted only while pairing is open', async () => {
    const code = await makeCode();
    market = { ...market, config: { ...market.config, openIdentityEndpoints: new Set() } };
    expect(await reasonOf(byCode(code))).toBe('door_closed');
    expect(await byKey()).toEqual({ handle: owner.handle });
  });
});

describe('wrong tries', () => {
  test('five end the attempt, for the right key too', async () => {
    for (let tries = 0; tries < 4; tries += 1) expect(await reasonOf(byKey(nobodysKey()))).toBe('key_invalid');
    expect(await reasonOf(byCode(makePairingCode(systemRandom, 'aisle')))).toBe('pairing_code_refused');
    expect(await reasonOf(byKey())).toBe('connection_closed');
    expect(await reasonOf(byCode(await makeCode()))).toBe('connection_closed');
    expect(await rowOf()).toMatchObject({ wrong_tries: 5, merchant_id: null });
    expect(await readAttemptStatus(market, uid)).toEqual({ isOver: true, provenAs: null });
    expect(await byKey(owner.key, randomUUID())).toEqual({ handle: owner.handle });
  });

  test('of thirty at once only five are judged, and a right one after them proves nothing', async () => {
    const wrong = Array.from({ length: 30 }, () => reasonOf(byKey(nobodysKey())));
    const outcomes = await Promise.all(wrong);
    expect(outcomes.filter((reason) => reason === 'key_invalid')).toHaveLength(5);
    expect(outcomes.filter((reason) => reason === 'connection_closed')).toHaveLength(25);
    expect(await reasonOf(byKey())).toBe('connection_closed');
  });

  test('every try counts for its network, right ones and those of closed attempts too, before it is judged', async () => {
    market = marketContext({ database: db.database, clock, limits: { ...ROOMY, pair_tries_per_ip_hour: 3 } });
    const from = (clientNetwork: string, key: string) => proveAttempt(market, { uid, shown: { key }, clientNetwork });
    const network = `192.0.2.${100 + count}`;
    await from(network, owner.key);
    expect(await reasonOf(from(network, nobodysKey()))).toBe('key_invalid');
    await from(network, owner.key);
    expect(await reasonOf(from(network, owner.key))).toBe('rate_limited');
    expect(await from(`198.51.100.${count}`, owner.key)).toEqual({ handle: owner.handle });
    expect(await rowOf()).toMatchObject({ wrong_tries: 1 });
    clock.set(NOON + 3_600_000);
    expect(await from(network, owner.key)).toEqual({ handle: owner.handle });
  });
});

describe('the decision', () => {
  test('to allow needs a proof, is taken once, and hands the proof over', async () => {
    expect(await reasonOf(allowAttempt(market, uid))).toBe('proof_missing');
    await byKey();
    expect(await allowAttempt(market, uid)).toEqual({
      ...{ merchantId: owner.id, keyId: await currentKey(), provedBy: 'key' },
    });
    for (const again of [allowAttempt, cancelAttempt]) {
      expect(await reasonOf(again(market, uid))).toBe('connection_closed');
    }
    expect(await reasonOf(byKey())).toBe('connection_closed');
    expect(await rowOf()).toMatchObject({ decided_as: 'allowed', decided_at: new Date(NOON) });
    expect((await readAttemptStatus(market, uid)).isOver).toBe(true);
  });

  test('of ten at once only one counts', async () => {
    await byKey();
    const decisions = Array.from({ length: 10 }, (_, index) =>
      reasonOf(index % 2 === 0 ? allowAttempt(market, uid).then(() => undefined) : cancelAttempt(market, uid)),
    );
    expect((await Promise.all(decisions)).filter((reason) => reason === 'none')).toHaveLength(1);
  });

  test('to allow is refused once the key was replaced, until the new one is shown', async () => {
    await byCode(await makeCode());
    const key = await rotate();
    expect(await readAttemptStatus(market, uid)).toEqual({ isOver: false, provenAs: null });
    expect(await reasonOf(allowAttempt(market, uid))).toBe('proof_missing');
    expect(await byKey(key)).toEqual({ handle: owner.handle });
    expect(await allowAttempt(market, uid)).toMatchObject({ keyId: await currentKey(), provedBy: 'key' });
  });

  test('that failed can be made again', async () => {
    await byKey();
    await allowAttempt(market, uid);
    await reopenAttempt(market, uid);
    expect(await readAttemptStatus(market, uid)).toEqual({ isOver: false, provenAs: owner.handle });
    expect(await allowAttempt(market, uid)).toMatchObject({ merchantId: owner.id });
  });

  test('to cancel needs no proof, and works after five wrong tries', async () => {
    for (let tries = 0; tries < 5; tries += 1) await reasonOf(byKey(nobodysKey()));
    expect(await reasonOf(allowAttempt(market, uid))).toBe('connection_closed');
    await cancelAttempt(market, uid);
    expect(await rowOf()).toMatchObject({ decided_as: 'canceled' });
    const fresh = randomUUID();
    await cancelAttempt(market, fresh);
    expect(await reasonOf(byKey(owner.key, fresh))).toBe('connection_closed');
  });
});

test('old attempts are deleted by later ones', async () => {
  await byKey();
  clock.set(NOON + DAY + 1);
  await byKey(owner.key, randomUUID());
  expect(await rowOf()).toBeNull();
});
