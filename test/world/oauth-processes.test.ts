import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { severableDatabase, testDatabase } from '../support/database.ts';
import {
  beginAuthorization,
  discover,
  followRedirectBack,
  openConsent,
  post,
  redeem,
  type ServerFacts,
} from '../support/oauth-client.ts';
import { CLIENT_SHAPES } from '../support/oauth-shapes.ts';
import { type OauthStage, startOauthStage } from '../support/oauth-stage.ts';

const db = testDatabase();
const shape = CLIENT_SHAPES.claudeWeb;
const old = Buffer.alloc(32, 7);
const pepper = createPepperFrom(
  new Map([
    [1, old],
    [2, Buffer.alloc(32, 8)],
  ]),
);

let first: OauthStage;
let second: OauthStage;
let secure: OauthStage;
let server: ServerFacts;
let owner: Awaited<ReturnType<OauthStage['join']>>;

beforeAll(async () => {
  first = await startOauthStage(db);
  // A second process of the same site, started later with an additional pepper.
  second = await startOauthStage(db, { baseUrl: first.url, changes: { pepper } });
  secure = await startOauthStage(db, { baseUrl: 'https://market.example' });
  server = await discover(first.url);
  owner = await first.join('owner');
});
afterAll(async () => {
  for (const stage of [first, second, secure]) await stage.stop();
});

test('an authorization goes on at whichever process its steps come to', async () => {
  const begun = beginAuthorization(server, { clientId: shape.document.client_id, shape });
  const page = await openConsent(begun);
  expect(await second.find(page)).toMatchObject({ uid: page.uid });
  const location = await second.allow(page, owner.proof);
  expect(location.startsWith(`${first.url}/`)).toBe(true);
  const sent = await followRedirectBack(server, begun, { browser: page.browser, location });
  const elsewhere = { ...server, token_endpoint: server.token_endpoint.replace(first.at, second.at) };
  const { status, body } = await redeem(elsewhere, begun, sent.get('code') ?? '');
  expect(status).toBe(200);
  for (const stage of [first, second]) {
    expect(await stage.connector.authenticate(String(body['access_token']))).toMatchObject({
      merchant: { id: owner.id },
    });
  }
  // Another site does not accept the token, although it shares the database.
  expect(await secure.connector.authenticate(String(body['access_token']))).toBeNull();
});

test('behind https everything is of https, whatever the request says of itself', async () => {
  const { client_id } = shape.document;
  const facts = {
    ...server,
    authorization_endpoint: `${secure.at}/oauth/authorize`,
    resource: 'https://market.example/mcp/connect',
  };
  const begun = beginAuthorization(facts, { clientId: client_id, shape });
  const headers = {
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'elsewhere.example',
    forwarded: 'host=elsewhere.example',
  };
  const response = await fetch(begun.url, { redirect: 'manual', headers });
  expect(response.headers.get('location')).toMatch(/^https:\/\/market\.example\/oauth\/interaction\/[\w-]{43}$/);
  const cookies = response.headers.getSetCookie();
  const uid = response.headers.get('location')?.split('/').at(-1);
  expect(cookies).toHaveLength(4);
  for (const cookie of cookies) {
    expect(cookie).toMatch(/^openaisle-connect(?:-resume)?(?:\.sig)?=/);
    expect(cookie).toMatch(new RegExp(`; path=/oauth/(?:interaction|authorize)/${uid};`));
    expect(cookie).toMatch(/; samesite=lax; secure; httponly$/);
    expect(cookie).not.toMatch(/domain=/i);
  }
  const registered = await fetch(`${secure.at}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(CLIENT_SHAPES.cursor.registration),
  });
  expect(await registered.json()).toMatchObject({
    registration_client_uri: expect.stringMatching(/^https:\/\/market\.example\/oauth\/register\//),
  });
});

test('while the database is away no client is told that it did something wrong', async () => {
  const severable = await severableDatabase(db.url);
  const away = await startOauthStage(db, { changes: { database: severable.database } });
  try {
    await severable.sever();
    const facts = { ...server, authorization_endpoint: `${away.at}/oauth/authorize` };
    const response = await fetch(beginAuthorization(facts, { clientId: 'x', shape }).url, { redirect: 'manual' });
    expect(response.status).toBe(503);
    expect(response.headers.get('location')).toBeNull();
    expect(await response.json()).toMatchObject({ reason: 'unavailable', retry: 'same_request' });
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: 'x',
      client_id: shape.document.client_id,
    });
    expect(await post(`${away.at}/oauth/token`, form)).toMatchObject({ status: 503, body: { reason: 'unavailable' } });
    await expect(away.connector.authenticate('a'.repeat(43))).rejects.toThrow();
  } finally {
    await away.stop();
    await severable.close();
  }
});
