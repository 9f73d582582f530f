import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { severableDatabase, testDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import type { Database } from '../../../platform/database/database.ts';
import { createLog } from '../../../platform/log.ts';
import { systemRandom } from '../../../platform/random.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { KEY_PAGES } from './create-key-pages.ts';

const db = testDatabase();
const clock = settableClock(Date.UTC(2026, 0, 6, 12));
const lines: string[] = [];
const doors = new Set(KEY_PAGES.map(({ endpoint }) => endpoint));
let running: RunningMarket;
let own = '';

function createOver(database: Database): RunningMarket {
  const { config, pepper } = marketContext({ database, clock });
  own = config.baseUrl;
  return createMarket({
    config: { ...config, openIdentityEndpoints: doors, limits: { ...config.limits, registration_per_ip_hour: 1_000 } },
    ...{ database, clock, pepper },
    log: createLog({ stream: { write: (line) => void lines.push(line) } }),
    random: systemRandom,
  });
}

beforeAll(() => {
  running = createOver(db.database);
});
afterAll(async () => {
  await running.http.close({ drainMs: 0 });
});
beforeEach(() => {
  for (const { endpoint } of KEY_PAGES) doors.add(endpoint);
});

interface Browser {
  cookies: Map<string, string>;
  headers: Record<string, string>;
}

const newBrowser = (headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }): Browser => ({
  cookies: new Map(),
  headers,
});

async function send(browser: Browser, path: string, fields?: Record<string, string>, to = running) {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const answer = await to.http.inject({
    method: fields === undefined ? 'GET' : 'POST',
    url: path,
    headers: {
      ...(cookie === '' ? {} : { cookie }),
      ...(fields === undefined
        ? { accept: 'text/html' }
        : { ...browser.headers, 'content-type': 'application/x-www-form-urlencoded' }),
    },
    ...(fields === undefined ? {} : { payload: new URLSearchParams(fields).toString() }),
  });
  const set = answer.headers['set-cookie'];
  const [name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(String(set ?? ''))?.slice(1) ?? [];
  if (name !== '') browser.cookies.set(name, value);
  return { status: answer.statusCode, headers: answer.headers, text: answer.body };
}

it.each(KEY_PAGES)('$path is a page to a browser, and text or JSON to a program', async ({ path }) => {
  const get = (accept?: string) =>
    running.http.inject({ method: 'GET', url: path, headers: accept === undefined ? {} : { accept } });
  const page = await get('text/html,application/xhtml+xml,*/*;q=0.8');
  expect([page.headers['content-type'], page.headers['vary']]).toEqual([
    'text/html; charset=utf-8',
    'accept, accept-encoding',
  ]);
  for (const accept of [undefined, '*/*']) {
    const said = await get(accept);
    expect([said.statusCode, said.headers['content-type'], said.headers['set-cookie']]).toEqual([
      200,
      'text/plain; charset=utf-8',
      undefined,
    ]);
    expect(said.body).toContain('POST /api/');
  }
  const { statusCode, body } = await get('application/json');
  expect([statusCode, JSON.parse(body)]).toEqual([200, expect.objectContaining({ open: true, page: `${own}${path}` })]);
});

const tokenIn = (text: string): string => /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
const titleIn = (text: string): string => /<h[12][^>]*>([^<]*)</.exec(text.slice(text.indexOf('<main')))?.[1] ?? '';
const JOIN = { action: 'begin', model: 'a model', client_class: 'coding_persistent', human_approved: 'yes' };

async function begin(browser: Browser, handle: string) {
  const { text } = await send(browser, '/join');
  return await send(browser, '/join', { ...JOIN, handle, token: tokenIn(text) });
}

describe.each(KEY_PAGES.map(({ path }) => path))('%s', (path) => {
  it('is never stored, never framed, and runs only its own two scripts', async () => {
    const seen = new Set<string>();
    for (const _again of [1, 2]) {
      const { status, headers, text } = await send(newBrowser(), path);
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'cache-control': 'private, no-store',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'content-type': 'text/html; charset=utf-8',
      });
      expect(headers['access-control-allow-origin']).toBeUndefined();
      expect(headers['etag']).toBeUndefined();
      const policy = String(headers['content-security-policy']);
      const nonce = /script-src 'nonce-([\w-]{24})'$/.exec(policy)?.[1] ?? '';
      expect(policy.replace(nonce, 'N')).toBe(
        "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; script-src 'nonce-N'",
      );
      expect(text.match(/<script/g)).toHaveLength(2);
      expect(text.split(`nonce="${nonce}"`)).toHaveLength(3);
      expect(text).not.toMatch(/ on[a-z]+=| style=|<style|https?:\/\//);
      seen.add(nonce);
    }
    expect(seen.size).toBe(2);
  });

  it('says so when its door is closed, to a GET and to a POST', async () => {
    const browser = newBrowser();
    const token = tokenIn((await send(browser, path)).text);
    doors.clear();
    for (const fields of [undefined, { action: 'begin', token }]) {
      const { status, text } = await send(browser, path, fields);
      expect([status, titleIn(text)]).toEqual([503, expect.stringContaining('closed')]);
    }
  });

  it('refuses a secret that stands in another field, as a page', async () => {
    const browser = newBrowser();
    const shown = await begin(browser, `secret-in-${path.slice(1)}`);
    const key = /id="key">([^<]+)</.exec(shown.text)?.[1] ?? '';
    const { status, headers, text } = await send(browser, path, { action: 'begin', model: key });
    expect([status, headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
    expect(text).not.toContain(key);
    expect(lines.join()).not.toContain(key);
  });
});

describe('where a form comes from', () => {
  it.each([
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, true],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'own' }, false],
    [{}, true],
    [{ origin: 'null' }, true],
    [{ origin: 'own' }, true],
    [{ origin: 'https://example.org' }, false],
  ])('%o: taken %s', async (headers, isTaken) => {
    const sent = Object.entries(headers).map(([name, value]) => [name, value === 'own' ? own : value]);
    const browser = newBrowser(Object.fromEntries(sent));
    const { status, text } = await begin(browser, 'from-somewhere');
    expect([status, titleIn(text)]).toEqual(isTaken ? [200, 'Save this now'] : [403, 'Sent from another site']);
    if (!isTaken) expect(text).not.toContain('from-somewhere');
  });

  it('must be a page of ours in the same browser: no other token does', async () => {
    const [browser, other] = [newBrowser(), newBrowser()];
    const token = tokenIn((await send(browser, '/join')).text);
    const foreign = tokenIn((await send(other, '/join')).text);
    const ofOtherPage = tokenIn((await send(browser, '/rotate')).text);
    for (const wrong of ['', 'x', foreign, ofOtherPage, `${token}x`]) {
      const { status, text } = await send(browser, '/join', { ...JOIN, handle: 'no-token', token: wrong });
      expect([status, titleIn(text)]).toEqual([403, 'This form was out of date']);
      expect(text).toContain('value="no-token"');
    }
    const taken = await send(browser, '/join', { ...JOIN, handle: 'no-token', token });
    expect(taken.status).toBe(200);
  });
});

describe('what was shown', () => {
  it('is in one answer, and in no later one', async () => {
    const browser = newBrowser();
    const shown = await begin(browser, 'shown-once');
    const key = /id="key">([^<]+)</.exec(shown.text)?.[1] ?? '';
    expect(shown.text.match(/id="code-\d"/g)).toHaveLength(8);
    expect(String(shown.headers['set-cookie'])).toMatch(
      /^__Host-openaisle-stage=register\.[\w-]{43}\.[\w-]{43}; Max-Age=3600; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
    const token = tokenIn(shown.text);
    for (const fields of [
      undefined,
      { ...JOIN, handle: 'shown-once', token },
      { action: 'confirm', token, merchant_key: key, code_first: 'x', code_second: 'y' },
    ]) {
      const { text } = await send(browser, '/join', fields);
      expect(text).toContain('Shown already');
      expect(text).not.toContain(key);
    }
    expect(lines.join()).not.toContain(key);
  });

  it('may be asked for again after a cancel, and is something else then', async () => {
    const browser = newBrowser();
    const first = await begin(browser, 'begun-twice');
    const canceled = await send(browser, '/join', { action: 'cancel', token: tokenIn(first.text) });
    expect([canceled.status, titleIn(canceled.text)]).toEqual([200, 'Canceled']);
    const second = await begin(browser, 'begun-twice');
    const keyOf = (text: string) => /id="key">([^<]+)</.exec(text)?.[1];
    expect(keyOf(second.text)).toMatch(/^aisle_sk_/);
    expect(keyOf(second.text)).not.toBe(keyOf(first.text));
  });

  it('escapes what was typed', async () => {
    const browser = newBrowser();
    const { text } = await begin(browser, '"><script>alert(1)</script>');
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).toContain('value="&#34;&#62;&#60;script&#62;alert(1)&#60;/script&#62;"');
  });
});

it('says as a page when it cannot read how things stand, and claims nothing about it', async () => {
  const browser = newBrowser();
  const token = tokenIn((await begin(browser, 'without-database')).text);
  const severable = await severableDatabase(db.url);
  const away = createOver(severable.database);
  await severable.sever();
  for (const fields of [undefined, { action: 'confirm', token }]) {
    const { status, headers, text } = await send(browser, '/join', fields, away);
    expect([status, headers['content-type'], titleIn(text)]).toEqual([
      503,
      'text/html; charset=utf-8',
      'No answer just now',
    ]);
    expect(headers['retry-after']).toBe('2');
    expect(text).not.toContain('Nothing was');
  }
  await away.http.close({ drainMs: 0 });
  await severable.close();
});

it('serves the files of the shell for ever, and nothing else from there', async () => {
  const { text } = await send(newBrowser(), '/join');
  const addresses = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, address = '']) => address);
  expect(addresses.length).toBeGreaterThan(4);
  for (const address of addresses) {
    const { status, headers } = await send(newBrowser(), address);
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
  }
  for (const name of ['nothing.js', '..%2fpackage.json', '__proto__']) {
    const { status, headers } = await send(newBrowser(), `/assets/${name}`);
    expect([status, headers['cache-control']]).toEqual([404, 'private, no-store']);
  }
});
