import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EndpointShape } from '../../src/contract/endpoint.ts';
import { endpoints } from '../../src/contract/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey, makePairingCode, makeRecoveryCode } from '../../src/platform/secrets.ts';
import { takeLeaks, watchText } from '../support/canary.ts';
import { countRows, testDatabase } from '../support/database.ts';
import { type Doors, identityClient, type Owner, startDoors } from '../support/identity-doors.ts';
import { expectRefusal, type Sending, send } from '../support/send.ts';

// Puts secrets of all three kinds into every place except their own header, at every endpoint. Answers, headers and log lines are searched
// for secrets, and so is the whole database when it is dropped.

const db = testDatabase();
let doors: Doors;
let owner: Owner;

const NEVER_ISSUED = {
  key: makeMerchantKey(systemRandom, 'aisle'),
  'recovery code': makeRecoveryCode(systemRandom, 'aisle'),
  'recovery code in lower case': makeRecoveryCode(systemRandom, 'aisle').toLowerCase(),
  'pairing code': makePairingCode(systemRandom, 'aisle'),
};
const all = Object.entries<EndpointShape>(endpoints).map(([name, endpoint]) => ({ name, endpoint }));
const taking = all.filter(({ endpoint }) => endpoint.body !== undefined);

beforeAll(async () => {
  doors = await startDoors({ database: db.database, databaseUrl: db.url, clock: systemClock });
  owner = await identityClient(doors.ask).join('guarded');
});
afterAll(() => doors.stop());

interface Place {
  path: string;
  sending: Sending;
}

const pathOf = ({ path }: EndpointShape): string => path.replaceAll(/:\w+/g, '1');

/** Escapes every character of a JSON string. */
const escaped = (text: string): string =>
  [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

function bodiesWith(secret: string): Sending[] {
  const artifact = Buffer.from(`\u0000before ${secret} after`).toString('base64');
  const texts = [
    JSON.stringify({ title: secret }),
    JSON.stringify({ action: 'begin', note: `my secret is ${secret}, keep it` }),
    JSON.stringify({ [secret]: 1 }),
    JSON.stringify({ tags: ['a', { deep: [secret] }] }),
    JSON.stringify({ artifact, artifact_encoding: 'base64' }),
    JSON.stringify({ session: secret, csrf: secret }),
    `{"description": "${escaped(secret)}"}`,
    `{"${escaped(secret)}": null}`,
    `{"broken": "${secret}`,
    secret,
  ];
  return [...texts.map((body) => ({ body })), { body: `{"a":"${secret}"}`, headers: { 'content-type': 'text/plain' } }];
}

function headersWith(secret: string): Sending[] {
  const payment = Buffer.from(`{"x402Version":1,"payload":"${escaped(secret)}"}`).toString('base64');
  const names = ['x-any', 'cookie', 'user-agent', 'referer', 'x-request-id', 'if-none-match', 'proxy-authorization'];
  return [
    ...names.map((name) => ({ headers: { [name]: `a=${secret}` } })),
    ...['x-payment', 'payment-signature', 'x-delivery-token'].map((name) => ({ headers: { [name]: secret } })),
    ...['x-payment', 'payment-signature'].map((name) => ({ headers: { [name]: payment } })),
    { headers: { 'x-any': Buffer.from(secret).toString('base64url') } },
    { headers: { [secret]: '1' } },
  ];
}

/** Puts the secret into the path and the query. Most of these paths do not exist, but the guard runs before routing. */
function targetsWith(path: string, secret: string): string[] {
  const encoded = [...secret].map((one) => `%${one.charCodeAt(0).toString(16)}`).join('');
  const queries = [
    `q=${secret}`,
    `${secret}=1`,
    `q=${encoded}`,
    `a=1&q=x${secret}y`,
    `q=${btoa(secret).replaceAll('=', '')}`,
  ];
  return [...queries.map((query) => `${path}?${query}`), `${path}/${secret}`, `${path}/${encoded}`];
}

async function expectGuarded(method: string, { path, sending }: Place, secret: string): Promise<void> {
  const answer = await send(doors.url, method, path, sending);
  const problem = expectRefusal(answer, 'secret_in_payload');
  const said = answer.text + JSON.stringify([...answer.headers]);
  expect(said).not.toContain(secret);
  expect(said.toLowerCase()).not.toContain(secret.slice('aisle_sk_'.length).toLowerCase());
  expect(problem['next_step']).toMatch(/replace a key at \/api\/rotate, or recovery codes at \/api\/recovery/);
}

interface Attempt {
  endpoint: EndpointShape;
  place(secret: string): Place;
}

/** Rotates the kinds of secrets over the places, so that across all endpoints each kind is tried in each place. */
async function expectAllGuarded(attempts: readonly Attempt[]): Promise<void> {
  const secrets = [...Object.values(NEVER_ISSUED), owner.key, owner.codes[0] ?? ''];
  const counters = sql`select name, subject, used from rate_counters order by 1, 2`;
  const before = [await countRows(db.database), await db.database.rows(counters)];
  const queue = attempts.entries();
  const work = async (): Promise<void> => {
    for (const [index, { endpoint, place }] of queue) {
      const secret = secrets[index % secrets.length] ?? '';
      await expectGuarded(endpoint.method, place(secret), secret);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
  expect([await countRows(db.database), await db.database.rows(counters)]).toEqual(before);
  expect(attempts.length).toBeGreaterThan(all.length);
}

const count = (make: (secret: string) => readonly unknown[]): number[] => [...make('').keys()];

test('in a body: values, names, deep inside, escaped, base64, of other types, and where it cannot be read', {
  timeout: 120_000,
}, async () => {
  await expectAllGuarded(
    taking.flatMap(({ endpoint }) =>
      count(bodiesWith).map((index) => ({
        endpoint,
        place: (secret) => ({ path: pathOf(endpoint), sending: bodiesWith(secret)[index] ?? {} }),
      })),
    ),
  );
});

test('in a header: any, those of payments, as base64, inside a payment, as a name', { timeout: 120_000 }, async () => {
  await expectAllGuarded(
    all.flatMap(({ endpoint }) =>
      count(headersWith).map((index) => ({
        endpoint,
        place: (secret) => ({ path: pathOf(endpoint), sending: headersWith(secret)[index] ?? {} }),
      })),
    ),
  );
});

test('in the query and in the path, plain, encoded and as base64', { timeout: 120_000 }, async () => {
  await expectAllGuarded(
    all.flatMap(({ endpoint }) =>
      count((secret) => targetsWith('', secret)).map((index) => ({
        endpoint,
        place: (secret) => ({ path: targetsWith(pathOf(endpoint), secret)[index] ?? '', sending: {} }),
      })),
    ),
  );
});

test('a code in Authorization, wherever that is looked at, and in the own place of another kind', {
  timeout: 120_000,
}, async () => {
  const { key, 'recovery code': recoveryCode, 'pairing code': pairingCode } = NEVER_ISSUED;
  const body = (fields: object, secret: string): [Place, string] => [{ path: '', sending: { body: fields } }, secret];
  for (const code of [recoveryCode, recoveryCode.toLowerCase(), pairingCode]) {
    for (const value of [`Bearer ${code}`, `bearer  ${code}`, code]) {
      for (const { endpoint } of all.filter(({ endpoint }) => !['audit', 'public'].includes(endpoint.auth)))
        await expectGuarded(
          endpoint.method,
          { path: pathOf(endpoint), sending: { headers: { authorization: value } } },
          code,
        );
    }
  }
  const confirm = { action: 'confirm', session: 'x', csrf: 'x' };
  const misplaced = [
    body({ ...confirm, merchant_key: recoveryCode }, recoveryCode),
    body({ ...confirm, merchant_key: pairingCode }, pairingCode),
    body({ action: 'begin', recovery_code: key }, key),
    body({ action: 'generate', recovery_code: pairingCode }, pairingCode),
  ];
  for (const [{ sending }, secret] of misplaced)
    await expectGuarded('POST', { path: '/api/recovery', sending }, secret);
});

test('in its own place a secret is judged for what it is', async () => {
  const { key, 'recovery code': code } = NEVER_ISSUED;
  const confirm = { action: 'confirm', session: 'x', csrf: 'x', merchant_key: key };
  expectRefusal(await send(doors.url, 'POST', '/api/register', { body: confirm }), 'not_found');
  expectRefusal(await send(doors.url, 'GET', '/api/me', { key }), 'key_invalid');
  const begin = { action: 'begin', recovery_code: code };
  expectRefusal(await send(doors.url, 'POST', '/api/recovery', { body: begin }), 'recovery_code_refused');
  expect((await send(doors.url, 'GET', '/api/official', { key: owner.key })).status).toBe(200);
  expect((await send(doors.url, 'GET', '/api/me', { key: owner.key })).status).toBe(200);
});

test('nothing that the market publishes or logged holds one', async () => {
  const paths = [
    '/',
    '/llms.txt',
    '/openapi.json',
    '/docs/errors',
    '/docs/errors/secret_in_payload',
    '/help',
    '/healthz',
  ];
  const reads = [
    '/readyz',
    '/api/official',
    '/api/events',
    '/api/window',
    '/api/merchants',
    '/api/store/guarded',
    '/treasury',
  ];
  const found = await Promise.all(
    [...paths, ...reads].flatMap((path) =>
      ['text/html', 'application/json', 'text/plain'].map((accept) =>
        send(doors.url, 'GET', path, { headers: { accept } }),
      ),
    ),
  );
  expect(found.filter(({ status }) => status === 200).length).toBeGreaterThan(20);
  expect(doors.logLines.length).toBeGreaterThan(500);
  const metrics = await doors.metrics.text();
  expect(metrics.body).toContain('openaisle_http_requests_total');
  watchText('the metrics', metrics.body);
  expect(takeLeaks()).toEqual([]);
});
