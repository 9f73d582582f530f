import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readNetwork } from '../../src/market/limits/network-limits.ts';
import { clientNetwork } from '../../src/platform/http/client-network.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import {
  type Begun,
  beginAuthorization,
  discover,
  followRedirectBack,
  learnClientId,
  openBrowser,
  openConsent,
  post,
  redeem,
  type ServerFacts,
} from '../support/oauth-client.ts';
import { CLIENT_SHAPES, type ClientShape, publishDocuments } from '../support/oauth-shapes.ts';
import { type OauthStage, startOauthStage } from '../support/oauth-stage.ts';

const db = testDatabase();
const shape = CLIENT_SHAPES.claudeWeb;
const clientId = shape.document.client_id;
const published = publishDocuments();
/** Odd responses of one host, by path. */
const ODD: Readonly<Record<string, () => Response>> = {
  '/other.json': () => Response.json({ ...shape.document, client_id: clientId }),
  '/case.json': () => Response.json({ ...shape.document, client_id: 'https://ODD.example/case.json' }),
  '/list.json': () => Response.json([{ ...shape.document, client_id: 'https://odd.example/list.json' }]),
  '/null.json': () => Response.json(null),
  '/secret.json': () =>
    Response.json({ ...shape.document, client_id: 'https://odd.example/secret.json', client_secret: 'x' }),
  '/password.json': () =>
    Response.json({
      ...shape.document,
      client_id: 'https://odd.example/password.json',
      token_endpoint_auth_method: 'client_secret_post',
    }),
  '/gone.json': () => Response.json({ ...shape.document, client_id: 'https://odd.example/gone.json' }, { status: 404 }),
  '/there.json': () =>
    Response.json(
      { ...shape.document, client_id: 'https://odd.example/there.json' },
      { status: 307, headers: { location: clientId } },
    ),
  '/moved.json': () => new Response(null, { status: 302, headers: { location: clientId } }),
  '/page.json': () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
  '/huge.json': () =>
    Response.json({ ...shape.document, client_id: 'https://odd.example/huge.json', x: 'x'.repeat(65_536) }),
};

let stage: OauthStage;
let server: ServerFacts;
let owner: Awaited<ReturnType<OauthStage['join']>>;
beforeAll(async () => {
  stage = await startOauthStage(db, {
    fetchDocument: async (url, signal) => {
      const { hostname, pathname } = new URL(url);
      return (hostname === 'odd.example' ? ODD[pathname]?.() : undefined) ?? (await published(url, signal));
    },
  });
  server = await discover(stage.url);
  owner = await stage.join('owner');
});
afterAll(() => stage.stop());

const ask = (begun: Begun): Promise<Response> => fetch(begun.url, { redirect: 'manual' });
const leadsToPage = async (of: ClientShape, id: string, redirectUri: string): Promise<boolean> => {
  const response = await ask(beginAuthorization(server, { clientId: id, shape: { ...of, redirectUri } }));
  const location = response.headers.get('location') ?? '';
  if (location.startsWith(`${stage.url}/oauth/interaction/`)) return true;
  // The server redirects nowhere else either.
  expect([response.status, location]).toEqual([400, '']);
  return false;
};

describe.each(Object.entries(CLIENT_SHAPES))('the redirects of %s', (_name, of: ClientShape) => {
  test('are all taken as published, with any port of the user’s own machine, and none that only looks like one', async () => {
    const id = await learnClientId(server, of);
    const uris = (of.document ?? of.registration)?.['redirect_uris'] as string[];
    for (const uri of uris) {
      expect(await leadsToPage(of, id, uri), uri).toBe(true);
      const url = new URL(uri);
      const isLoopback = url.protocol === 'http:';
      const elsewhere = (change: Partial<URL>): string => Object.assign(new URL(uri), change).href;
      if (isLoopback) expect(await leadsToPage(of, id, elsewhere({ port: '61234' })), 'a port').toBe(true);
      else if (url.protocol === 'https:') expect(await leadsToPage(of, id, elsewhere({ port: '8443' }))).toBe(false);
      const foreign = [
        ...[`${uri}x`, `${uri}/../x`, `${uri}?x=1`, `${uri}#x`, `${uri}%00`, ` ${uri}`, uri.toUpperCase()],
        ...(url.protocol === 'cursor:' ? ['cursor://elsewhere/oauth/callback'] : []),
        ...(isLoopback
          ? [
              ...[
                elsewhere({ protocol: 'https' }),
                elsewhere({ pathname: '/elsewhere' }),
                elsewhere({ username: 'x' }),
              ],
              ...[`http://${url.hostname}.elsewhere.example/callback`, `http://${url.host}@elsewhere.example/callback`],
              ...[`http://elsewhere.example\\@${url.host}${url.pathname}`, `http://[::1]:1${url.pathname}`],
              ...[`http://127.0.0.2${url.pathname}`, `http://${url.hostname}:x${url.pathname}`],
            ]
          : []),
      ];
      for (const one of foreign) expect(await leadsToPage(of, id, one), one).toBe(false);
    }
  });
});

test('a name of the user’s own machine is no address of it, unless it was published too', async () => {
  const { opencode } = CLIENT_SHAPES;
  const redirect = opencode.redirectUri.replace('127.0.0.1', 'localhost');
  expect(await leadsToPage(opencode, opencode.document.client_id, redirect)).toBe(false);
});

describe('what a client sends with its user', () => {
  test('comes back as it was sent, to the last character', async () => {
    const state = 'a b+c&d=e/%25#é"<>\\';
    const begun = beginAuthorization(server, { clientId, shape }, { state });
    const page = await openConsent(begun);
    const { browser } = page;
    const { searchParams: sent } = new URL((await browser.follow(await stage.allow(page, owner.proof))).url);
    expect([...sent.keys()].sort()).toEqual(['code', 'iss', 'state']);
    expect(sent.get('state')).toBe(state);
    expect(sent.get('iss')).toBe(server.issuer);
  });

  test('tells two authorizations apart: a code that was put into the other one gives no token', async () => {
    const [mine, yours] = [0, 1].map(() => beginAuthorization(server, { clientId, shape }));
    if (mine === undefined || yours === undefined) throw new Error('two');
    const codes = [];
    for (const begun of [mine, yours]) {
      const page = await openConsent(begun);
      const location = await stage.allow(page, owner.proof);
      const stop = await page.browser.follow(location);
      const { searchParams: sent } = new URL(stop.url);
      expect(sent.get('state')).toBe(begun.state);
      codes.push(sent.get('code') ?? '');
    }
    // This client checks the state.
    const page = await openConsent(beginAuthorization(server, { clientId, shape }));
    const location = await stage.allow(page, owner.proof);
    await expect(followRedirectBack(server, yours, { browser: page.browser, location })).rejects.toThrow(
      'another state',
    );
    // A client that does not check the state still fails, because its verifier belongs to another code.
    expect((await redeem(server, mine, codes[1] ?? '')).body).toMatchObject({ error: 'invalid_grant' });
    expect((await redeem(server, yours, codes[0] ?? '')).body).toMatchObject({ error: 'invalid_grant' });
  });

  test.each<[string, Record<string, string | null>, string]>([
    ['a verifier where a challenge was to be', { code_challenge: 'short' }, 'invalid_request'],
    ['a response type that there is not', { response_type: null }, 'invalid_request'],
    ['a request of its own', { request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
  ])('is not %s', async (_name, changed, error) => {
    const begun = beginAuthorization(server, { clientId, shape }, changed);
    const sent = await followRedirectBack(server, begun, { browser: openBrowser(), location: begun.url });
    expect(sent.get('error')).toBe(error);
    expect(sent.get('code')).toBeNull();
  });

  test('is given once: nothing of it twice', async () => {
    for (const [name, value] of [
      ['client_id', clientId],
      ['redirect_uri', shape.redirectUri],
      ['code_challenge', createHash('sha256').update('x').digest('base64url')],
      ['scope', 'market:write'],
      ['state', 'x'],
    ] as const) {
      const { url } = beginAuthorization(server, { clientId, shape });
      const stop = await openBrowser().follow(`${url}&${name}=${encodeURIComponent(value)}`);
      const error = stop.page === null ? new URL(stop.url).searchParams.get('error') : stop.page.status;
      expect([name, error]).toEqual([name, stop.page === null ? 'invalid_request' : 400]);
    }
  });
});

describe('a client is what stands at its address and nothing else:', () => {
  const at = async (id: string): Promise<{ status: number; text: string }> => {
    const response = await ask(beginAuthorization(server, { clientId: id, shape }));
    expect(response.headers.get('location')).toBeNull();
    return { status: response.status, text: await response.text() };
  };

  test.each([
    ['/other.json', 400],
    ['/case.json', 400],
    ['/list.json', 400],
    ['/null.json', 400],
    ['/secret.json', 400],
    ['/password.json', 400],
    ['/moved.json', 502],
    ['/there.json', 502],
    ['/gone.json', 502],
    ['/page.json', 502],
    ['/huge.json', 502],
    ['/nothing.json', 502],
  ])('%s is no client', async (path, status) => {
    expect((await at(`https://odd.example${path}`)).status).toBe(status);
  });

  test.each([
    ...['http://claude.ai/oauth/mcp-oauth-client-metadata', `${clientId}#x`, clientId.replace('//', '//user@')],
    ...[
      'https://claude.ai/x/../oauth/mcp-oauth-client-metadata',
      'https://claude.ai/%2e/x',
      `${clientId}\\`,
      ` ${clientId}`,
    ],
    ...['https:claude.ai/oauth/mcp-oauth-client-metadata', 'https://', 'file:///etc/passwd'],
  ])('“%s” is no address of one', async (id) => {
    const { status } = await at(id);
    expect(status).toBe(400);
  });
});

describe('programs in a browser', () => {
  test('may read the discovery, register and get tokens, without cookies; and may read no step of an authorization', async () => {
    const origin = 'https://anywhere.example';
    const open = [
      ['GET', '/.well-known/oauth-authorization-server'],
      ['GET', '/.well-known/oauth-protected-resource/mcp/connect'],
      ['POST', '/oauth/register'],
      ['POST', '/oauth/token'],
      ['POST', '/oauth/revoke'],
    ] as const;
    for (const [method, path] of open) {
      const asked = {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'content-type',
      };
      const preflight = await fetch(stage.url + path, { method: 'OPTIONS', headers: asked });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
      expect(preflight.headers.get('access-control-allow-methods')).toBe(method);
      expect(preflight.headers.get('access-control-allow-headers')).toMatch(/content-type.*mcp-protocol-version/);
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
      const answer = await fetch(stage.url + path, { method, headers: { origin } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    }
    for (const url of [beginAuthorization(server, { clientId, shape }).url, `${stage.url}/oauth/authorize/x`]) {
      const answer = await fetch(url, { headers: { origin }, redirect: 'manual' });
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  });
});

describe('what is for one client alone', () => {
  test('is stored nowhere on the way: a registration, a step, a token, a refusal', async () => {
    const begun = beginAuthorization(server, { clientId, shape });
    const step = await ask(begun);
    const page = await openConsent(begun);
    const last = await page.browser.get(await stage.allow(page, owner.proof));
    const code = new URL(last.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const form = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) });
    const asked = {
      grant_type: 'authorization_code',
      code,
      client_id: clientId,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.verifier,
    };
    const registration = JSON.stringify(CLIENT_SHAPES.cursor.registration);
    const answers = [
      ...[step, last, await fetch(server.token_endpoint, form(asked)), await fetch(server.token_endpoint, form(asked))],
      await fetch(server.registration_endpoint, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: registration,
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 200, 400, 201]);
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('private, no-store');
    expect(step.headers.get('referrer-policy')).toBe('no-referrer');
    // Both authorization cookies are removed, and no new one keeps the sign-in.
    const cookies = last.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies)
      expect(cookie).toMatch(/^openaisle-connect(?:-resume)?(?:\.sig)?=[^;]*;.* expires=Thu, 01 Jan 1970/i);
  });

  test('is asked for with no password: a client that sends one gets nothing for it', async () => {
    const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: 'x' };
    expect((await post(server.token_endpoint, new URLSearchParams(body))).body).toMatchObject({
      error: expect.stringMatching(/^(?:invalid_client|invalid_request|unsupported_grant_type|unauthorized_client)$/),
    });
  });
});

test('a client that begins again and again without a consent has to wait', async () => {
  const clock = settableClock(Date.parse('2091-01-01T00:00:00Z'));
  const narrow = await startOauthStage(db, { limits: { oauth_starts_per_ip_hour: 2 }, changes: { clock } });
  try {
    const facts = await discover(narrow.url);
    const answer = () => ask(beginAuthorization(facts, { clientId, shape }));
    for (let nth = 0; nth < 2; nth += 1) expect((await answer()).status).toBe(303);
    const refused = await answer();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    clock.set(clock.now() + 3_600_000);
    expect((await answer()).status).toBe(303);
  } finally {
    await narrow.stop();
  }
});

describe('a client that makes us ask for documents', () => {
  test('asks ten times as often at a host of the configuration, and not for ever', async () => {
    // Uses an hour of its own, since the other tests count against the same limit.
    const clock = settableClock(Date.parse('2090-01-01T00:00:00Z'));
    const narrow = await startOauthStage(db, { limits: { oauth_clients_per_ip_hour: 2 }, changes: { clock } });
    try {
      const facts = await discover(narrow.url);
      const status = async (id: string): Promise<number> =>
        (await ask(beginAuthorization(facts, { clientId: id, shape }))).status;
      for (let nth = 0; nth < 20; nth += 1) expect(await status(`https://claude.ai/no/${nth}`)).toBe(502);
      expect(await status('https://claude.ai/no/more')).toBe(429);
      // Another configured host has its own count. All other hosts share one limit.
      expect(await status('https://chatgpt.com/no/1')).toBe(502);
      for (const nth of [1, 2]) expect(await status(`https://x${nth}.example/client.json`)).toBe(502);
      expect(await status('https://x3.example/client.json')).toBe(429);
    } finally {
      await narrow.stop();
    }
  });

  test('may be of a network with a limit of its own', async () => {
    const network = readNetwork('127.0.0.0/8');
    if (network === null) throw new Error('a network');
    const own = { network, limits: { oauth_clients_per_ip_hour: 0 } };
    const narrow = await startOauthStage(db, { clientNetworkLimits: [own] });
    try {
      expect(clientNetwork('127.0.0.1')).toBe('127.0.0.1');
      const { body } = await post(`${narrow.url}/oauth/register`, CLIENT_SHAPES.cursor.registration);
      expect(body).toMatchObject({ reason: 'rate_limited' });
    } finally {
      await narrow.stop();
    }
  });
});
