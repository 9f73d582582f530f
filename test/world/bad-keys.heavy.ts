import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey, makePairingCode, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { countRows } from '../support/database.ts';
import { type Member, startWorld, TEST_PEPPER, type World } from '../support/market-world.ts';
import { type Sample, sampleRequests, sendingOf } from '../support/sample-requests.ts';
import { seedListing } from '../support/seed.ts';
import { CANARY, expectDeclared, expectRefusal, type Sending, type SentAnswer, send } from '../support/send.ts';

let world: World;
let member: Member;
let rows: Record<string, bigint>;

const AT = { listingId: 1n, handle: 'seller-one' };
const samples = sampleRequests(AT);
const secrets = [
  ['a merchant key', makeMerchantKey(systemRandom, 'aisle')],
  ['a recovery code', makeRecoveryCode(systemRandom, 'aisle')],
  ['a pairing code', makePairingCode(systemRandom, 'aisle')],
] as const;
const base64 = (text: string) => Buffer.from(text).toString('base64');

beforeAll(async () => {
  world = await startWorld({ limits: { guard_runs_per_merchant_day: 100_000 } });
  await world.join('the-keeper');
  const seller = await world.join(AT.handle);
  member = await world.join('buyer-one');
  await seedListing(world.db.database, seller.id, { artifact: CANARY });
});
afterAll(() => world?.stop());
beforeEach(async () => {
  rows = await countRows(world.db.database);
});
afterEach(async () => {
  expect(await countRows(world.db.database)).toEqual(rows);
});

function sendSample(sample: Sample, changed: Sending = {}, path = sample.path): Promise<SentAnswer> {
  return send(world.url, sample.endpoint.method, path, { ...sendingOf(sample, member), ...changed });
}

function logged(): string {
  return JSON.stringify(world.logLines, (_name, value) => (typeof value === 'bigint' ? `${value}` : value));
}

function authorized(value: string | string[]): Sending {
  return { headers: { authorization: value } };
}

describe.each(samples)('$name', (sample) => {
  const { auth } = sample.endpoint;
  const { key: _, ...keyless } = { key: '', ...sendingOf(sample, { id: 0n, handle: '', key: '' }) };
  const call = async (changed: Sending) =>
    expectDeclared(
      sample.endpoint,
      await send(world.url, sample.endpoint.method, sample.path, { ...keyless, ...changed }),
    );

  async function badKeys(): Promise<Sending[]> {
    const revoked = makeMerchantKey(systemRandom, 'aisle');
    await world.db.database.run(
      sql`insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at, revoked_at)
        values (${TEST_PEPPER.hash(revoked)}, 1, ${member.id}, now(), now())`,
    );
    rows = await countRows(world.db.database);
    const unknown = makeMerchantKey(systemRandom, 'aisle');
    const mistyped = `${member.key.slice(0, -1)}${member.key.endsWith('0') ? '1' : '0'}`;
    const values = [
      'nonsense',
      member.key,
      `Basic ${base64(`x:${member.key}`)}`,
      'Bearer',
      'Bearer a b',
      `Token ${member.key}`,
    ];
    const bearers = [unknown, revoked, mistyped, 'x', '0', 'null', `${member.key},${member.key}`, `${member.key}x`];
    const cased = [member.key.toUpperCase(), member.key.toLowerCase()];
    return [
      ...[...values, ...[...bearers, ...cased].map((bearer) => `Bearer ${bearer}`)].map(authorized),
      authorized([`Bearer ${member.key}`, `Bearer ${member.key}`]),
    ];
  }

  if (auth === 'key' || auth === 'maintainer' || auth === 'optional_key') {
    it('refuses every key that is not one current key, sent once', async () => {
      for (const bad of await badKeys()) expectRefusal(await call(bad), 'key_invalid');
      expect(logged()).not.toContain(member.key);
    });
  }
  if (auth === 'audit' || auth === 'public') {
    it('takes no notice of keys', async () => {
      const without = await call({});
      for (const bad of await badKeys()) expect((await call(bad)).status).toBe(without.status);
    });
  }

  if (auth === 'key' || auth === 'maintainer') {
    it('refuses to answer without a key', async () => {
      expectRefusal(await call({}), 'key_required');
    });
  }

  it.each(secrets)(
    'refuses %s anywhere but in its own place, and neither echoes nor logs it',
    async (_kind, secret) => {
      const twisted = secret.replace('aisle', '\\u0061isle').replaceAll('_', '\\u005f');
      const body = sample.bodies[0]?.fields;
      const proof = base64(JSON.stringify({ x402Version: 1, note: secret }));
      const tries: [Sending, string?][] = [
        [{}, `${sample.path}?q=${secret}`],
        [{}, `${sample.path}?${secret}=1`],
        [{}, `${sample.path}?q=${[...secret].map((c) => `%${c.charCodeAt(0).toString(16)}`).join('')}`],
        [{}, `${sample.path}/${secret}`],
        [{}, `/api/store/${secret}`],
        [{ headers: { 'x-note': secret } }],
        [{ headers: { cookie: `session=${secret}` } }],
        [{ headers: { 'user-agent': `agent (${secret})` } }],
        [{ headers: { 'x-payment': proof } }],
        [{ headers: { 'payment-signature': base64(`{"a":"${twisted}"}`) } }],
        [{ headers: { 'x-delivery-token': secret } }],
        [{ headers: { 'x-note': base64(secret) } }],
      ];
      if (body !== undefined) {
        tries.push([{ body: { ...body, surely_unknown: secret } }], [{ body: { ...body, [secret]: 1 } }]);
        tries.push([{ body: `{"a":"${twisted}"}` }], [{ body: `nonsense ${secret}` }], [{ body: [[secret]] }]);
        tries.push([{ body: secret, headers: { 'content-type': 'text/plain' } }], [{ body: { a: { b: [secret] } } }]);
        const foreign = Object.keys(body).filter((field) => !sample.endpoint.secret_fields?.includes(field));
        for (const field of foreign) tries.push([{ body: { ...body, [field]: `see ${secret}.` } }]);
      }
      for (const [sending, path] of tries) {
        const answer = await sendSample(sample, sending, path);
        expectRefusal(answer, 'secret_in_payload');
        expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(secret);
      }
      expect(logged()).not.toContain(secret);
    },
  );

  it('refuses a secret even from a caller without a good key, before any word about the key', async () => {
    const [, secret] = secrets[0];
    expectRefusal(await call({ headers: { 'x-note': secret } }), 'secret_in_payload');
    expectRefusal(await call({ headers: { 'x-note': secret, authorization: 'nonsense' } }), 'secret_in_payload');
  });
});

describe('the hidden goods of a new listing', () => {
  const sample = samples.find(({ name }) => name === 'createListing');
  const list = (changes: Record<string, unknown>) => {
    if (sample === undefined) throw new Error('no sample of a listing');
    return sendSample(sample, { body: { ...sample.bodies[0]?.fields, ...changes } });
  };

  it.each(secrets)('may not hold %s, as text, as bytes or among other text', async (_kind, secret) => {
    for (const artifact of [
      secret,
      `line one\n${secret}\nline three`,
      base64(secret),
      `${'x'.repeat(9_000)}${secret}`,
    ]) {
      expectRefusal(await list({ artifact }), 'secret_in_payload');
    }
    for (const text of [secret, `\u0000\u0001${secret}`]) {
      expectRefusal(await list({ artifact: base64(text), artifact_encoding: 'base64' }), 'secret_in_payload');
    }
  });

  it('may speak of keys that are none', async () => {
    const [, key] = secrets[0];
    for (const artifact of ['aisle_sk_', key.slice(0, -1), `${key.slice(0, -1)}!`, key.replace('aisle', 'other')]) {
      expectRefusal(await list({ artifact }), 'payment_required');
    }
  });
});
