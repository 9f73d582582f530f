import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { faultsOf, reportRun, runSuite } from './mcp-judge.ts';

/** The cookies of one browser for one site, kept for the whole test. */
interface Browser {
  get(url: string): Promise<Response>;
  post(url: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
}

function openBrowser(): Browser {
  const jar = new Map<string, string>();
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...init.headers, ...(cookie === '' ? {} : { cookie }) };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) keep(jar, line);
    return response;
  };
  return {
    get: (url) => send(url, { headers: { accept: 'text/html' } }),
    post: (url, body, headers = {}) =>
      send(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
        body: JSON.stringify(body),
      }),
  };
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';');
  const [name = '', value = ''] = pair.split(/=(.*)/s, 2);
  const expires = attributes.find((one) => /^ *expires=/i.test(one))?.split('=')[1];
  if (value === '' || (expires !== undefined && Date.parse(expires) <= Date.now())) jar.delete(name.trim());
  else jar.set(name.trim(), value);
}

interface Consent {
  /** Merchant key typed into the page. Nothing is typed if omitted. */
  key?: string;
  decision?: 'allow' | 'cancel';
}

/** Acts for a person in a browser at an authorization URL: enters the key, decides, and follows the redirect. Returns the final URL. */
async function giveConsent(authorizeUrl: string, { key, decision = 'allow' }: Consent): Promise<string> {
  const { origin } = new URL(authorizeUrl);
  const browser = openBrowser();
  const page = await follow(browser, authorizeUrl, origin);
  // The server refused before asking the person.
  if (page.left !== null) return page.left;
  if (page.response.status !== 200) throw new Error(`${page.url} answered ${page.response.status}`);
  await page.response.body?.cancel();
  if (key !== undefined) await step(browser, `${page.url}/prove`, {}, { authorization: `Bearer ${key}` });
  const { location } = await step(browser, `${page.url}/decide`, { decision });
  const end = await follow(browser, new URL(String(location), origin).href, origin);
  if (end.left === null) throw new Error(`the browser was not sent back: ${end.url} answered ${end.response.status}`);
  return end.left;
}

interface Stop {
  /** Last URL on the site. */
  url: string;
  response: Response;
  /** Redirect URL that left the site. Null if none did. */
  left: string | null;
}

async function follow(browser: Browser, from: string, origin: string): Promise<Stop> {
  let url = from;
  for (let hops = 0; hops < 10; hops += 1) {
    if (new URL(url).origin !== origin) throw new Error(`${url} is another site`);
    const response = await browser.get(url);
    const location = response.headers.get('location');
    if (location === null) return { url, response, left: null };
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.origin !== origin) return { url, response, left: next.href };
    url = next.href;
  }
  throw new Error(`${from} leads nowhere`);
}

async function step(
  browser: Browser,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await browser.post(url, body, headers);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

const SCENARIOS = ['authorization-code-grant', 'authorization-server-metadata-endpoint'];

describe('the authorization server, before the official conformance suite', () => {
  let world: World;
  let merchant: Member;
  beforeAll(async () => {
    world = await startWorld({ port: await freePort() });
    merchant = await world.join('judged-merchant');
  });
  afterAll(() => world.stop());

  /** Registers as an unknown client would. */
  const register = async (redirectUri: string): Promise<string> => {
    const { body: metadata } = await world.ask('GET', '/.well-known/oauth-authorization-server');
    const { pathname } = new URL(String(metadata['registration_endpoint']));
    const { status, body } = await world.ask('POST', pathname, {
      body: {
        client_name: 'Conformance suite',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    });
    expect(status).toBe(201);
    return String(body['client_id']);
  };

  /** Runs the suite as a client, with a person who follows its links. */
  const judge = async (consent: Consent) => {
    const port = await freePort();
    const clientId = await register(`http://127.0.0.1:${port}/callback`);
    const answered: number[] = [];
    const at = ['--url', world.url, '--client-id', clientId, '--resource', `${world.url}/mcp/connect`];
    const run = await runSuite(['authorization', ...at, '--port', String(port)], async (line) => {
      // The suite prints the URL for the person and waits for the callback.
      if (!line.startsWith(world.url) || !line.includes('code_challenge=')) return;
      const back = await giveConsent(line, consent);
      answered.push((await fetch(back)).status);
    });
    expect(answered).toEqual([200]);
    return run;
  };

  test('has full marks, with a person who shows a key and allows', async () => {
    const run = await judge({ key: merchant.key });
    reportRun('authorization', run, SCENARIOS);
    expect(faultsOf(run.checks)).toEqual([]);
    const passed = new Set(run.checks.flatMap(({ scenario, status }) => (status === 'SUCCESS' ? [scenario] : [])));
    expect([...passed].sort()).toEqual(SCENARIOS);
    expect(run.code).toBe(0);
  });

  test('gives no code when the person cancels', async () => {
    const run = await judge({ decision: 'cancel' });
    expect(faultsOf(run.checks)).toEqual([
      expect.stringMatching(/^authorization-code-grant: .+ FAILURE Authorization error: access_denied/),
    ]);
    expect(run.code).toBe(1);
  });
});
