import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { testDatabase } from '../support/database.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import {
  type Begun,
  beginAuthorization,
  type Connected,
  type ConsentPage,
  connectClient,
  discover,
  followRedirectBack,
  openBrowser,
  openConsent,
  post,
  redeem,
  refresh,
  type ServerFacts,
} from '../support/oauth-client.ts';
import { CLIENT_SHAPES, publishDocuments } from '../support/oauth-shapes.ts';
import { type OauthStage, proofOf, startOauthStage, whileHeld } from '../support/oauth-stage.ts';

const db = testDatabase();
const shape = CLIENT_SHAPES.claudeWeb;
const clientId = shape.document.client_id;
const shapeless = 'https://absent.example/client.json';
const foreign = {
  ...shape.document,
  client_id: 'https://elsewhere.example/client.json',
  redirect_uris: ['http://elsewhere.example/'],
};

let stage: OauthStage;
let server: ServerFacts;
let clock: SettableClock;
let owner: Awaited<ReturnType<OauthStage['join']>>;
const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) => vi.spyOn(console, name));

beforeAll(async () => {
  clock = settableClock(Date.now());
  stage = await startOauthStage(db, { changes: { clock }, fetchDocument: publishDocuments([foreign]) });
  server = await discover(stage.url);
  owner = await stage.join('owner');
});
beforeEach(() => clock.set(Date.now()));
afterAll(async () => {
  await stage.stop();
  // The library's messages must either go to our log or be dropped.
  for (const method of printed) expect(method).not.toHaveBeenCalled();
});

const begin = (changed?: Readonly<Record<string, string | null>>): Begun =>
  beginAuthorization(server, { clientId, shape }, changed);
const connect = (): Promise<Connected> => connectClient(stage.url, shape, (page) => stage.allow(page, owner.proof));
const lives = async (token: unknown): Promise<boolean> => (await stage.connector.authenticate(String(token))) !== null;

/** Returns the error that the client receives through its user's browser. */
async function errorSent(begun: Begun): Promise<string | null> {
  const browser = openBrowser();
  const sent = await followRedirectBack(server, begun, { browser, location: begun.url });
  return sent.get('error');
}

async function allowed(begun: Begun): Promise<{ page: ConsentPage; code: string }> {
  const page = await openConsent(begun);
  const sent = await followRedirectBack(server, begun, {
    browser: page.browser,
    location: await stage.allow(page, owner.proof),
  });
  return { page, code: sent.get('code') ?? '' };
}

describe('an authorization is refused, and the client told so,', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['for another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['for this resource with another path', { resource: 'http://127.0.0.1/mcp' }, 'invalid_target'],
    ['without PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['with plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['with a challenge of no method', { code_challenge_method: null }, 'invalid_request'],
    ['for a token in the address', { response_type: 'token' }, 'unsupported_response_type'],
    ['for an identity token', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['without a page', { prompt: 'none' }, 'login_required'],
    ['for an answer as a form', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['by reference', { request_uri: 'https://elsewhere.example/request' }, 'request_uri_not_supported'],
  ])('%s', async (_name, changed, error) => {
    expect(await errorSent(begin(changed))).toBe(error);
  });

  test('when its user says no', async () => {
    const begun = begin();
    const page = await openConsent(begun);
    const { browser } = page;
    const sent = await followRedirectBack(server, begun, { browser, location: await stage.cancel(page) });
    expect(sent.get('error')).toBe('access_denied');
    expect(await stage.find(page)).toBeNull();
  });
});

describe('no redirect is sent', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['without a page', { prompt: 'none' }, 'login_required'],
    ['without PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['for a token in the address', { response_type: 'token' }, 'unsupported_response_type'],
  ])('for a client that registered itself, %s', async (_name, changed, words) => {
    const own = CLIENT_SHAPES.cursor;
    const { body } = await post(server.registration_endpoint, own.registration);
    const asked = beginAuthorization(server, { clientId: String(body['client_id']), shape: own }, changed);
    const stop = await openBrowser().follow(asked.url);
    expect(stop.page?.status).toBe(400);
    expect(stop.page?.text).toContain(words);
  });

  test.each<[string, Record<string, string | null>, number, string]>([
    ['to a redirect that is not the client’s', { redirect_uri: 'https://elsewhere.example/cb' }, 400, 'redirect_uri'],
    ['to the client’s host on another path', { redirect_uri: 'https://claude.ai/elsewhere' }, 400, 'redirect_uri'],
    ['for a client that registered nowhere', { client_id: 'unknown' }, 400, 'invalid_client'],
    ['for a client without a document', { client_id: shapeless }, 502, 'Wait a moment'],
    ['for a client whose document has forbidden redirects', { client_id: foreign.client_id }, 400, 'redirect_uris'],
    ['for a client at an address that is none', { client_id: 'https://user@absent.example/' }, 400, 'invalid_client'],
  ])('%s', async (_name, changed, status, words) => {
    const stop = await openBrowser().follow(begin(changed).url);
    expect(stop.page?.status).toBe(status);
    expect(stop.page?.text).toContain(words);
    expect(stop.page?.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(stop.page?.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(stop.page?.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('for a NUL in the query', async () => {
    const response = await fetch(`${begin().url}&x=%00`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ reason: 'invalid_query' });
  });
});

describe('an authorization belongs to the browser that it began in', () => {
  test('another one finds no page under its address, and cannot finish it', async () => {
    const page = await openConsent(begin());
    const other = openBrowser();
    expect(await stage.find({ ...page, browser: other })).toBeNull();
    const location = await stage.allow(page, owner.proof);
    const stop = await other.follow(location);
    expect(stop.page?.status).toBe(410);
    expect(stop.page?.text).toContain('was started in another browser');
  });

  test('the cookie of one attempt opens no other', async () => {
    const [mine, yours] = [await openConsent(begin()), await openConsent(begin())];
    const cookies = mine.browser.cookiesFor(mine.url);
    const swapped = { ...mine.browser, cookiesFor: () => cookies };
    expect(await stage.find({ ...yours, browser: swapped })).toBeNull();
    const forged = { ...mine.browser, cookiesFor: () => cookies.replaceAll(mine.uid, yours.uid) };
    expect(await stage.find({ ...yours, browser: forged })).toBeNull();
    expect(await stage.find(mine)).not.toBeNull();
  });

  test('it is over after a quarter of an hour', async () => {
    const page = await openConsent(begin());
    clock.set(clock.now() + 15 * 60_000 - 1);
    expect(await stage.find(page)).not.toBeNull();
    clock.set(clock.now() + 1);
    expect(await stage.find(page)).toBeNull();
    await expect(stage.allow(page, owner.proof)).rejects.toThrow('no such attempt');
  });

  test('it is decided once, also by two at once', async () => {
    const page = await openConsent(begin());
    const outcomes = await Promise.allSettled([stage.allow(page, owner.proof), stage.allow(page, owner.proof)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await stage.find(page)).toBeNull();
  });
});

describe('a code', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['of another resource', { resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
    ['with another verifier', { code_verifier: 'a'.repeat(43) }, 'invalid_grant'],
    ['without its verifier', { code_verifier: null }, 'invalid_grant'],
    ['with another redirect', { redirect_uri: 'https://claude.com/api/mcp/auth_callback' }, 'invalid_grant'],
    ['by another client', { client_id: CLIENT_SHAPES.chatgpt.document.client_id }, 'invalid_grant'],
    ['by a client with an unreadable document', { client_id: shapeless }, 'temporarily_unavailable'],
  ])('is worth nothing %s', async (_name, changed, error) => {
    const begun = begin();
    const { code } = await allowed(begun);
    const answer = await redeem(server, begun, code, changed);
    expect(answer.body).toMatchObject({ error });
    expect(answer.status).toBe(error === 'temporarily_unavailable' ? 503 : 400);
  });

  test('is worth nothing after a minute', async () => {
    const begun = begin();
    const { code } = await allowed(begun);
    clock.set(clock.now() + 60_000);
    expect((await redeem(server, begun, code)).body).toMatchObject({ error: 'invalid_grant' });
  });

  test('that is used again takes along what it gave', async () => {
    const { begun, code, tokens } = await connect();
    expect(await lives(tokens.access_token)).toBe(true);
    expect((await redeem(server, begun, code)).body).toMatchObject({ error: 'invalid_grant' });
    expect(await lives(tokens.access_token)).toBe(false);
    const next = await refresh(server, clientId, tokens.refresh_token ?? '');
    expect(next.body).toMatchObject({ error: 'invalid_grant' });
  });

  test('gives one token to two who come at once', async () => {
    const begun = begin();
    const { code } = await allowed(begun);
    const answers = await whileHeld(db, { model: 'AuthorizationCode', waiting: 2 }, () =>
      Promise.all([redeem(server, begun, code), redeem(server, begun, code)]),
    );
    const [given, refused] = answers.sort((a, b) => a.status - b.status);
    expect([given?.status, refused?.status]).toEqual([200, 400]);
    expect(refused?.body).toMatchObject({ error: 'invalid_grant' });
    expect(await lives(given?.body['access_token'])).toBe(true);
  });
});

describe('a token', () => {
  test('ends after an hour, and the refresh token after thirty days without use', async () => {
    const { tokens } = await connect();
    clock.set(clock.now() + 3_600_000 - 2_000);
    expect(await lives(tokens.access_token)).toBe(true);
    clock.set(clock.now() + 2_000);
    expect(await lives(tokens.access_token)).toBe(false);
    clock.set(clock.now() + 30 * 86_400_000);
    const next = await refresh(server, clientId, tokens.refresh_token ?? '');
    expect(next.body).toMatchObject({ error: 'invalid_grant' });
  });

  test('made of a refresh token used again dies with the whole family', async () => {
    const { tokens } = await connect();
    const first = await refresh(server, clientId, tokens.refresh_token ?? '');
    const second = await refresh(server, clientId, String(first.body['refresh_token']));
    expect(await lives(second.body['access_token'])).toBe(true);
    const again = await refresh(server, clientId, tokens.refresh_token ?? '');
    expect(again.body).toMatchObject({ error: 'invalid_grant' });
    for (const { body } of [first, second]) {
      expect(await lives(body['access_token'])).toBe(false);
      const next = await refresh(server, clientId, String(body['refresh_token']));
      expect(next.body).toMatchObject({ error: 'invalid_grant' });
    }
    // The merchant sees the grant as revoked, and all its tokens are gone.
    const [over] = await db.database.rows<{ oauth_grant: string; revoked_at: Date | null }>(
      sql`select oauth_grant, revoked_at from hosted_grants order by granted_at desc limit 1`,
    );
    expect(over?.revoked_at).not.toBeNull();
    const left = await db.database.rows(sql`select model from oauth_artifacts where grant_id = ${over?.oauth_grant}`);
    expect(left).toEqual([]);
  });

  test('is given once for a refresh token that comes twice at once, and is worth nothing then', async () => {
    const { tokens } = await connect();
    const asked = () => refresh(server, clientId, tokens.refresh_token ?? '');
    const answers = await whileHeld(db, { model: 'RefreshToken', waiting: 2 }, () => Promise.all([asked(), asked()]));
    const [given, refused] = answers.sort((a, b) => a.status - b.status);
    expect([given?.status, refused?.status]).toEqual([200, 400]);
    expect(await lives(given?.body['access_token'])).toBe(false);
    expect(await lives(tokens.access_token)).toBe(false);
  });

  test('may be of fewer scopes, and never of more', async () => {
    const { tokens } = await connect();
    const less = await refresh(server, clientId, tokens.refresh_token ?? '', { scope: 'market:read offline_access' });
    expect(less.body).toMatchObject({ scope: 'market:read' });
    const hosted = await stage.connector.authenticate(String(less.body['access_token']));
    expect([...(hosted?.scopes ?? [])]).toEqual(['market:read']);
    const more = await refresh(server, clientId, String(less.body['refresh_token']), { scope: 'market:write' });
    expect(more.body).toMatchObject({ error: 'invalid_scope' });
  });

  test('goes to no other resource on a refresh', async () => {
    const { tokens } = await connect();
    const next = await refresh(server, clientId, tokens.refresh_token ?? '', {
      resource: 'https://elsewhere.example/',
    });
    expect(next.body).toMatchObject({ error: 'invalid_target' });
  });

  test('is dead once its client has given it back, and the connection with it', async () => {
    const { tokens } = await connect();
    const form = (token: string | undefined) => new URLSearchParams({ token: token ?? '', client_id: clientId });
    const foreign = new URLSearchParams({
      token: tokens.access_token,
      client_id: CLIENT_SHAPES.chatgpt.document.client_id,
    });
    await post(server.revocation_endpoint, foreign);
    expect(await lives(tokens.access_token)).toBe(true);
    expect((await post(server.revocation_endpoint, form(tokens.refresh_token))).status).toBe(200);
    expect(await lives(tokens.access_token)).toBe(false);
  });

  test('that is a merchant’s key, a refresh token or anything else authenticates no merchant', async () => {
    const { tokens } = await connect();
    for (const token of [tokens.refresh_token, owner.key, 'x', '', 'a'.repeat(43), `${tokens.access_token} `]) {
      expect(await lives(token)).toBe(false);
    }
  });
});

describe('a merchant’s key in place of anything', () => {
  const key = makeMerchantKey(systemRandom, 'aisle');
  const encoded = Buffer.from(key).toString('base64');

  test.each<[string, () => URLSearchParams | object]>([
    ['a code', () => new URLSearchParams({ grant_type: 'authorization_code', code: key, client_id: clientId })],
    ['an unknown field', () => new URLSearchParams({ grant_type: 'x', other: key })],
    ['the name of a field', () => new URLSearchParams({ [key]: 'x' })],
    ['base64', () => new URLSearchParams({ refresh_token: encoded })],
    ['JSON', () => ({ deep: [{ deeper: key }] })],
  ])('is refused as %s before anybody looks at it', async (_name, body) => {
    for (const url of [server.token_endpoint, server.revocation_endpoint]) {
      expect((await post(url, body())).body).toMatchObject({ reason: 'secret_in_payload' });
    }
  });

  test('is refused in JSON that is spelled in escapes', async () => {
    const body = `{"code":"\\u00${Buffer.from(key.slice(0, 1)).toString('hex')}${key.slice(1)}"}`;
    const response = await fetch(server.token_endpoint, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ reason: 'secret_in_payload' });
  });

  test('is refused in a registration', async () => {
    for (const changed of [
      { client_name: key },
      { redirect_uris: [`https://x.example/${key}`] },
      { other: [encoded] },
    ]) {
      const body = { redirect_uris: ['https://x.example/'], ...changed };
      expect((await post(server.registration_endpoint, body)).body).toMatchObject({ reason: 'secret_in_payload' });
    }
  });

  test('is refused in the address', async () => {
    const response = await fetch(begin({ state: key }).url, { redirect: 'manual' });
    expect(await response.json()).toMatchObject({ reason: 'secret_in_payload' });
  });
});

test('a proof of a key that was replaced leaves nothing behind', async () => {
  const page = await openConsent(begin());
  const stale = { ...owner.proof, keyId: owner.proof.keyId + 1_000n };
  await expect(stage.allow(page, stale)).rejects.toMatchObject({ reason: 'proof_missing' });
  expect(await stage.find(page)).not.toBeNull();
  await stage.allow(page, await proofOf(db, owner.id));
});
