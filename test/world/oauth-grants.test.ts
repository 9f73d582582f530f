import { createSign, generateKeyPairSync } from 'node:crypto';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { revokeAccess } from '../../src/market/identity/store.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { testDatabase } from '../support/database.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import {
  beginAuthorization,
  type Connected,
  connectClient,
  discover,
  followRedirectBack,
  openConsent,
  post,
  redeem,
  refresh,
  type ServerFacts,
} from '../support/oauth-client.ts';
import { CLIENT_SHAPES, type ClientShape, publishDocuments } from '../support/oauth-shapes.ts';
import { type OauthStage, startOauthStage } from '../support/oauth-stage.ts';

const db = testDatabase();
const shape = CLIENT_SHAPES.claudeWeb;
const clientId = shape.document.client_id;
const DAY_MS = 86_400_000;

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signerId = 'https://signer.example/client.json';
const jwksUri = 'https://signer.example/keys.json';
const signer = {
  document: {
    ...CLIENT_SHAPES.chatgpt.document,
    client_id: signerId,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: jwksUri,
  },
  redirectUri: CLIENT_SHAPES.chatgpt.redirectUri,
} satisfies ClientShape;
const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'one' }] };

let stage: OauthStage;
let server: ServerFacts;
let clock: SettableClock;
let owner: Awaited<ReturnType<OauthStage['join']>>;

beforeAll(async () => {
  clock = settableClock(Date.now());
  const published = publishDocuments([signer.document]);
  stage = await startOauthStage(db, {
    changes: { clock },
    fetchDocument: async (url, signal) => (url === jwksUri ? Response.json(keys) : await published(url, signal)),
    limits: { oauth_clients_per_ip_hour: 20 },
  });
  server = await discover(stage.url);
  owner = await stage.join('owner');
});
beforeEach(() => clock.set(Date.now()));
afterAll(() => stage.stop());

const connect = (of: ClientShape = shape): Promise<Connected> =>
  connectClient(stage.url, of, (page) => stage.allow(page, owner.proof));
const lives = async (token: unknown): Promise<boolean> => (await stage.connector.authenticate(String(token))) !== null;

describe('a connection', () => {
  test('ends at once with the key of its merchant: tokens, refreshes, and codes on their way', async () => {
    const { begun, tokens } = await connect();
    const later = beginAuthorization(server, { clientId, shape });
    const page = await openConsent(later);
    const location = await stage.allow(page, owner.proof);
    const sent = await followRedirectBack(server, later, { browser: page.browser, location });
    const unfinished = await openConsent(beginAuthorization(server, { clientId, shape }));
    const unfinishedAt = await stage.allow(unfinished, owner.proof);

    await stage.market.database.transaction((tx) => revokeAccess(tx, owner.id, new Date()));

    expect(await lives(tokens.access_token)).toBe(false);
    const next = await refresh(server, begun.clientId, tokens.refresh_token ?? '');
    expect(next.body).toMatchObject({ error: 'invalid_grant' });
    expect((await redeem(server, later, sent.get('code') ?? '')).body).toMatchObject({ error: 'invalid_grant' });
    const stop = await unfinished.browser.follow(unfinishedAt);
    expect(new URL(stop.url).searchParams.get('error')).toBe('access_denied');
  });

  test('is nothing while its merchant has no key in force, whatever else is', async () => {
    const other = await stage.join('keyless');
    const { tokens } = await connectClient(stage.url, shape, (page) => stage.allow(page, other.proof));
    expect(await lives(tokens.access_token)).toBe(true);
    await db.database.run(sql`update merchant_keys set revoked_at = now() where merchant_id = ${other.id}`);
    expect(await lives(tokens.access_token)).toBe(false);
  });

  test('ends after a year, however often it was refreshed', async () => {
    const { begun, tokens } = await connect();
    let next = String(tokens.refresh_token);
    for (let month = 1; month <= 12; month += 1) {
      clock.set(clock.now() + 29 * DAY_MS);
      const { status, body } = await refresh(server, begun.clientId, next);
      expect(status).toBe(200);
      next = String(body['refresh_token']);
    }
    clock.set(clock.now() + 18 * DAY_MS);
    expect((await refresh(server, begun.clientId, next)).body).toMatchObject({ error: 'invalid_grant' });
  });

  test('is proven by itself, and by its host for all others once that is in the configuration', async () => {
    const [first, second, other] = [await connect(), await connect(), await connect(CLIENT_SHAPES.opencode)];
    const seen = async ({ tokens }: Connected) => {
      const hosted = await stage.connector.authenticate(tokens.access_token);
      if (hosted === null) throw new Error('no hosted caller');
      return hosted;
    };
    expect([await seen(first), await seen(second), await seen(other)].map(({ proven }) => proven)).toEqual([
      false,
      false,
      false,
    ]);
    await stage.connector.markProven(await seen(first));
    await stage.connector.markProven(await seen(first));
    expect((await seen(first)).proven).toBe(true);
    expect((await seen(second)).proven).toBe(true);
    await stage.connector.markProven(await seen(other));
    expect((await seen(other)).proven).toBe(true);
    expect((await seen(await connect(CLIENT_SHAPES.opencode))).proven).toBe(false);
    const hosts = await db.database.rows(sql`select host from hosted_proven_hosts`);
    expect(hosts).toEqual([{ host: 'claude.ai' }]);
    // If the configuration does not name the host, each grant of that host counts as proven only if that grant was proven itself.
    const without = await startOauthStage(db, { baseUrl: stage.url, changes: { clock }, hostedHosts: [] });
    try {
      const ask = ({ tokens }: Connected) => without.connector.authenticate(tokens.access_token);
      expect([(await ask(first))?.proven, (await ask(second))?.proven]).toEqual([true, false]);
    } finally {
      await without.stop();
    }
  });

  test('leaves nothing in the database that opens anything', async () => {
    const { browser, begun, code, tokens } = await connect(CLIENT_SHAPES.cursor);
    const next = await refresh(server, begun.clientId, tokens.refresh_token ?? '');
    const registered = await post(server.registration_endpoint, CLIENT_SHAPES.cursor.registration);
    const open = await openConsent(beginAuthorization(server, { clientId, shape }));
    const secrets = [
      ...[code, tokens.access_token, tokens.refresh_token, next.body['access_token'], next.body['refresh_token']],
      ...[registered.body['registration_access_token'], open.uid, ...browser.seen, ...open.browser.seen],
    ].map(String);
    expect(secrets.every((secret) => secret.length > 20)).toBe(true);
    const rows = await db.database.rows<{ text: string }>(sql`
      select oauth_artifacts::text || encode(id_hash, 'escape') as text from oauth_artifacts
      union all select hosted_grants::text from hosted_grants union all select connect_proofs::text from connect_proofs`);
    expect(rows.length).toBeGreaterThan(5);
    for (const { text } of rows) for (const secret of secrets) expect(text.includes(secret)).toBe(false);
    const logged = JSON.stringify(stage.logLines, (_name, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    for (const secret of secrets) expect(logged.includes(secret)).toBe(false);
  });
});

describe('a client that registers itself', () => {
  const register = (body: object) => post(server.registration_endpoint, body);

  test('is told what was taken of what it asked for', async () => {
    const { status, body } = await register({
      ...CLIENT_SHAPES.cursor.registration,
      token_endpoint_auth_method: 'client_secret_post',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      client_name: 'Cursor',
      redirect_uris: CLIENT_SHAPES.cursor.registration.redirect_uris,
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      registration_client_uri: `${server.registration_endpoint}/${body['client_id']}`,
    });
    expect(body).not.toHaveProperty('client_secret');
    expect(body).not.toHaveProperty('scope');
    const read = await fetch(String(body['registration_client_uri']), {
      headers: { authorization: `Bearer ${body['registration_access_token']}` },
    });
    expect(await read.json()).toMatchObject({ client_id: body['client_id'], client_name: 'Cursor' });
    const stranger = await fetch(String(body['registration_client_uri']), { headers: { authorization: 'Bearer x' } });
    expect(stranger.status).toBe(401);
    expect(stranger.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
  });

  test.each<[string, object, string]>([
    ['without redirects', {}, 'invalid_redirect_uri'],
    ['with a script as a redirect', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with http elsewhere', { redirect_uris: ['http://elsewhere.example/'] }, 'invalid_redirect_uri'],
    [
      'for another kind of answer',
      { redirect_uris: ['https://x.example/'], response_types: ['token'] },
      'invalid_client_metadata',
    ],
  ])('is refused %s', async (_name, body, error) => {
    expect(await register(body)).toMatchObject({ status: 400, body: { error } });
  });

  test('and asks for no refresh token gets none', async () => {
    const { registration, redirectUri } = CLIENT_SHAPES.cursor;
    const once = { registration: { ...registration, grant_types: ['authorization_code'] }, redirectUri };
    const { tokens } = await connect(once);
    expect(await lives(tokens.access_token)).toBe(true);
    expect(tokens).not.toHaveProperty('refresh_token');
  });

  test('is forgotten after a day, and once it was used after ninety without use', async () => {
    const used = await connect(CLIENT_SHAPES.cursor);
    const unused = String((await register(CLIENT_SHAPES.cursor.registration)).body['client_id']);
    const isKnown = async (id: string): Promise<boolean> => {
      const begun = beginAuthorization(server, { clientId: id, shape: CLIENT_SHAPES.cursor });
      return (await fetch(begun.url, { redirect: 'manual' })).status === 303;
    };
    expect([await isKnown(used.begun.clientId), await isKnown(unused)]).toEqual([true, true]);
    clock.set(clock.now() + DAY_MS);
    expect([await isKnown(used.begun.clientId), await isKnown(unused)]).toEqual([true, false]);
    clock.set(clock.now() + 28 * DAY_MS);
    const next = await refresh(server, used.begun.clientId, used.tokens.refresh_token ?? '');
    expect(next.status).toBe(200);
    clock.set(clock.now() + 90 * DAY_MS - 1);
    expect(await isKnown(used.begun.clientId)).toBe(true);
    clock.set(clock.now() + 1);
    expect(await isKnown(used.begun.clientId)).toBe(false);
  });

  test('is one of so many an hour of its network, and those with unread documents count too', async () => {
    clock.set(Date.parse('2090-01-01T00:00:00Z'));
    const ask = (id: string) => fetch(beginAuthorization(server, { clientId: id, shape }).url, { redirect: 'manual' });
    for (let nth = 0; nth < 10; nth += 1)
      expect((await register({ redirect_uris: ['https://x.example/'] })).status).toBe(201);
    for (let nth = 0; nth < 10; nth += 1) expect((await ask(`https://x${nth}.example/client.json`)).status).toBe(502);
    expect((await register({ redirect_uris: ['https://x.example/'] })).body).toMatchObject({ reason: 'rate_limited' });
    const refused = await ask('https://y.example/client.json');
    expect(await refused.json()).toMatchObject({ reason: 'rate_limited' });
    expect((await ask(clientId)).status).toBe(303);
  });
});

describe('a client that signs', () => {
  const assertion = (changed: Readonly<Record<string, unknown>> = {}): string => {
    const now = Math.floor(Date.now() / 1_000);
    const text = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: signerId,
      sub: signerId,
      aud: server.issuer,
      jti: systemRandom.uuid(),
      iat: now,
      exp: now + 60,
    };
    const signed = `${text({ alg: 'ES256', kid: 'one' })}.${text({ ...claims, ...changed })}`;
    const signature = createSign('sha256').update(signed).sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
  const begin = async () => {
    const begun = beginAuthorization(server, { clientId: signerId, shape: signer });
    const page = await openConsent(begun);
    const location = await stage.allow(page, owner.proof);
    const sent = await followRedirectBack(server, begun, { browser: page.browser, location });
    return { begun, code: sent.get('code') ?? '' };
  };
  const signedWith = (client_assertion: string) => ({
    client_assertion,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  });

  test('gets its token with its signature, once for each', async () => {
    const { begun, code } = await begin();
    const once = assertion();
    const { status, body } = await redeem(server, begun, code, signedWith(once));
    expect(status).toBe(200);
    expect(await lives(body['access_token'])).toBe(true);
    const again = await refresh(server, signerId, String(body['refresh_token']), signedWith(once));
    expect(again).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
    const next = await refresh(server, signerId, String(body['refresh_token']), signedWith(assertion()));
    expect(next.status).toBe(200);
  });

  test('gets none without it, or with one for another audience', async () => {
    const { begun, code } = await begin();
    expect((await redeem(server, begun, code)).status).toBe(401);
    const elsewhere = signedWith(assertion({ aud: 'https://elsewhere.example' }));
    expect((await redeem(server, begun, code, elsewhere)).status).toBe(401);
    const forged = signedWith(`${assertion().slice(0, -8)}AAAAAAAA`);
    expect((await redeem(server, begun, code, forged)).status).toBe(401);
  });
});
