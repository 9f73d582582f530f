import type { Request } from 'playwright-core';
import sql, { raw } from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket, type OpenedStore } from './market.ts';
import { stubClient } from './stub-client.ts';
import { heading } from './walk.ts';

// A program is connected to a store by somebody in a real browser, used, listed and revoked; and the key is in headers alone.

const browser = testBrowser();
const market = browserMarket();
const client = stubClient();
let count = 0;
let store: OpenedStore;

beforeEach(async () => {
  await market.reset();
  count += 1;
  store = await market.openStore(`connected-${count}`);
});

const CONSENT = 'Let a program act for your store';
const pairingCode = async (): Promise<string> =>
  String((await market.ask('/api/pair', {}, store.key)).body['pairing_code']);

/** What the browser sends from now on, as far as anybody but the server could read or keep it; and headers apart. */
function overhear({ page }: Visitor): { said: () => string; authorized: () => Promise<string[]> } {
  const sent: Request[] = [];
  page.context().on('request', (request) => void sent.push(request));
  return {
    said: () => sent.map((request) => `${request.method()} ${request.url()} ${request.postData() ?? ''}`).join('\n'),
    authorized: async () => {
      const withHeaders = await Promise.all(
        sent.map(async (request) => ({ request, all: await request.allHeaders() })),
      );
      return withHeaders
        .filter(({ all }) => Object.values(all).some((value) => value.includes(store.key)))
        .map(({ request, all }) => {
          const names = Object.keys(all).filter((name) => all[name]?.includes(store.key));
          return `${request.method()} ${new URL(request.url()).pathname} ${names.join()}`;
        });
    },
  };
}

/** Every row of every table, as text. */
async function everything(): Promise<string> {
  const tables = await market.database.rows<{ name: string }>(sql`
    select quote_ident(table_name) as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`);
  const texts = await Promise.all(
    tables.map(({ name }) =>
      market.database.one<{ text: string | null }>(sql`
        select string_agg(one::text, ' ') as text from ${raw(name)} as one`),
    ),
  );
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['oauth_artifacts', 'connect_proofs', 'hosted_grants']),
  );
  return texts.map(({ text }) => text ?? '').join('\n');
}

/** Where that stands; the texts themselves would say too much in a failure. */
const placesOf = (secret: string, places: Readonly<Record<string, string>>): string[] =>
  Object.keys(places).filter((name) => places[name]?.includes(secret));
const backIn = ({ page }: Visitor) => page.waitForURL(`${client.redirectUri}?**`);
const focused = ({ page }: Visitor) => page.evaluate<string>('document.activeElement.id');

describe.each([
  { width: 390, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const)('by keyboard alone, $width px wide and $colorScheme', ({ width, colorScheme }) => {
  const visit = () => browser.visitor({ viewport: { width, height: 844 }, colorScheme });

  it('a program is connected by the key, which is in one header of one request and nowhere else', async () => {
    const visitor = await visit();
    const { page } = visitor;
    const heard = overhear(visitor);
    const begun = await client.begin(market.url);
    await page.goto(begun.url);
    expect(await heading(visitor)).toBe(CONSENT);
    expect(await visitor.findings()).toEqual([]);
    await visitor.tabTo('#merchant-key');
    // As from the clipboard; it is whole, so it is checked by itself.
    await page.keyboard.insertText(store.key);
    await page.locator('#proven').waitFor();
    expect(await page.locator('#handle').innerText()).toBe(store.handle);
    expect(await page.inputValue('#merchant-key')).toBe('');
    expect(await page.content()).not.toContain(store.key);
    expect(await focused(visitor)).toBe('proven');
    // A second Enter allows nothing.
    await page.keyboard.press('Enter');
    expect(await heading(visitor)).toBe(CONSENT);
    expect(await visitor.findings()).toEqual([]);
    await visitor.tabTo('#allow');
    await Promise.all([backIn(visitor), page.keyboard.press('Enter')]);

    const tokens = await client.redeem(market.url, begun);
    expect(tokens.scope).toBe('market:read market:me');
    const answered = await client.call(market.url, tokens.access_token, 'me');
    expect(JSON.stringify(answered.message)).toContain(store.handle);
    expect(visitor.complaints).toEqual([]);
    expect(await heard.authorized()).toEqual([
      expect.stringMatching(/^POST \/oauth\/interaction\/[^/]+\/prove authorization$/),
    ]);
    const [url = ''] = heard.said().match(/\/oauth\/interaction\/[\w-]+/) ?? [];
    const uid = url.split('/').at(-1) ?? '';
    expect(uid).not.toBe('');
    const places = {
      ...{ rows: await everything(), log: market.logged(), said: heard.said(), kept: await visitor.kept() },
      answers: JSON.stringify([tokens, answered.message]),
    };
    expect(placesOf(store.key, places)).toEqual([]);
    const secrets = {
      ...{ uid, access: tokens.access_token, refresh: tokens.refresh_token ?? '' },
      code: client.brought().get('code') ?? '',
    };
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(20);
      expect(placesOf(secret, { rows: places.rows, log: places.log }), name).toEqual([]);
    }
    await page.goBack();
    expect(await heading(visitor)).toBe('This attempt to connect is over');
    await visitor.close();
  });

  it('a program is connected by a pairing code as people type it', async () => {
    const visitor = await visit();
    const { page } = visitor;
    const code = await pairingCode();
    const begun = await client.begin(market.url, { scope: 'market:read market:me market:write' });
    await page.goto(begun.url);
    await visitor.tabTo('#pairing-code');
    await page.keyboard.type(code.toLowerCase());
    await page.locator('#proven').waitFor();
    expect(await page.inputValue('#pairing-code')).toBe('');
    await visitor.tabTo('#allow');
    await Promise.all([backIn(visitor), page.keyboard.press('Space')]);
    const tokens = await client.redeem(market.url, begun);
    expect(JSON.stringify((await client.call(market.url, tokens.access_token, 'me')).message)).toContain(store.handle);
    for (const text of [await everything(), market.logged()])
      expect(text.toUpperCase()).not.toContain(code.toUpperCase());
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  it('what acts for a store is listed and revoked, and its token is refused from then on', async () => {
    const visitor = await visit();
    const { page } = visitor;
    const token = await connect(visitor);
    const heard = overhear(visitor);
    await page.goto(`${market.url}/mcp/connect/grants`);
    await visitor.tabTo('#merchant-key');
    await page.keyboard.insertText(store.key);
    await page.keyboard.press('Enter');
    await page.locator('#grants').waitFor();
    expect(await page.inputValue('#merchant-key')).toBe('');
    const item = page.locator('#list li');
    expect(await item.count()).toBe(1);
    expect(await item.innerText()).toContain('A stub & its <client>');
    expect(await item.innerText()).toContain('it registered itself, so its name proves nothing');
    expect(await visitor.findings()).toEqual([]);
    await visitor.tabTo('[data-revoke]');
    await page.keyboard.press('Enter');
    await page.locator('#said', { hasText: 'Revoked' }).waitFor();
    expect(await item.innerText()).toContain('Ended');
    expect(await page.locator('[data-revoke]').isVisible()).toBe(false);
    expect(await visitor.findings()).toEqual([]);
    expect((await client.call(market.url, token, 'me')).status).toBe(401);
    expect(await page.content()).not.toContain(store.key);
    expect(await heard.authorized()).toEqual([
      'GET /api/grants authorization',
      expect.stringMatching(/^POST \/api\/grants\/[0-9a-f-]{36}\/revoke authorization$/),
    ]);
    for (const text of [heard.said(), await visitor.kept(), market.logged()]) expect(text).not.toContain(store.key);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

const decisions = async (): Promise<bigint> =>
  (
    await market.database.one<{ count: bigint }>(sql`
      select count(*) as count from connect_proofs where decided_at is not null`)
  ).count;

/** Without the keyboard, for tests of other things. */
async function connect({ page }: Visitor): Promise<string> {
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  await page.fill('#merchant-key', store.key);
  await Promise.all([backIn({ page } as Visitor), page.click('#allow')]);
  const { access_token } = await client.redeem(market.url, begun);
  await client.call(market.url, access_token, 'me');
  return access_token;
}

it('wrong tries are told at their field, five end the attempt, and cancel tells the program', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  const fault = (id: string) => page.locator(`#${id}-fault`);
  await page.click('#by-key button');
  expect(await fault('merchant-key').innerText()).toBe('Type or paste the key.');
  // A key is not sent from the other field, not even to be refused.
  const heard = overhear(visitor);
  await page.fill('#pairing-code', store.key);
  await page.click('#by-code button');
  expect(await fault('pairing-code').innerText()).toContain('A key goes into the field of the key');
  expect(heard.said()).toBe('');
  for (let tries = 0; tries < 5; tries += 1) {
    await page.fill('#merchant-key', `wrong-${tries}`);
    await page.keyboard.press('Enter');
    await fault('merchant-key').filter({ hasText: 'no key in force' }).waitFor();
    expect(await page.getAttribute('#merchant-key', 'aria-invalid')).toBe('true');
    expect(await focused(visitor)).toBe('merchant-key');
  }
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('consent-fault');
  await page.fill('#merchant-key', store.key);
  await page.locator('#over').waitFor();
  expect(await page.locator('#allow').isVisible()).toBe(false);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('consent-over');
  await Promise.all([backIn(visitor), page.click('#cancel')]);
  expect(client.brought().get('error')).toBe('access_denied');
  await visitor.close();
});

it('too many tries say how long to wait', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  market.limit('pair_tries_per_ip_hour', 0);
  await page.goto((await client.begin(market.url)).url);
  await page.fill('#merchant-key', store.key);
  await page.locator('#merchant-key-fault', { hasText: 'Wait 55 minutes' }).waitFor();
  await visitor.close();
});

it('a key that is replaced after the proof has to be shown anew', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto((await client.begin(market.url)).url);
  await page.fill('#merchant-key', store.key);
  await page.locator('#proven').waitFor();
  const { body } = await market.ask('/api/rotate', { action: 'begin' }, store.key);
  const { session, csrf, merchant_key: key } = body;
  await market.ask('/api/rotate', { action: 'confirm', session, csrf }, String(key));
  await page.click('#allow');
  await page.locator('#said', { hasText: 'Give the merchant key or a pairing code' }).waitFor();
  await page.fill('#merchant-key', String(key));
  await page.locator('#proven').waitFor();
  await Promise.all([backIn(visitor), page.click('#allow')]);
  expect(client.brought().get('code')).not.toBeNull();
  await visitor.close();
});

it('without a script nothing can be typed, and the pages say why', async () => {
  const visitor = await browser.visitor({ javaScriptEnabled: false });
  const { page } = visitor;
  for (const path of [(await client.begin(market.url)).url, `${market.url}/mcp/connect/grants`]) {
    await page.goto(path);
    expect(await page.locator('noscript').innerText()).toContain('This page needs its script');
    expect(await page.locator('input').first().isVisible()).toBe(false);
    expect(await page.locator('main button:visible').count()).toBe(0);
  }
  await visitor.close();
});

it('an attempt belongs to its browser, and another site can neither frame it nor act in it', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto((await client.begin(market.url)).url);
  const address = page.url();
  await page.fill('#merchant-key', store.key);
  await page.locator('#proven').waitFor();
  const other = await browser.visitor();
  await other.page.goto(address);
  expect(await heading(other)).toBe('This attempt to connect is over');
  await other.close();
  const before = await decisions();
  const tab = await visitor.tab();
  // The same machine by another name is another site to a browser.
  await tab.page.goto(client.redirectUri.replace('127.0.0.1', 'localhost').replace('callback', 'elsewhere'));
  const told = await tab.page.evaluate<string>(`fetch('${address}/decide', {
    method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"decision":"allow"}',
  }).then((answer) => answer.type, (error) => error.name)`);
  expect(told).toBe('opaque');
  await tab.page.setContent(`<iframe src="${address}"></iframe>`);
  await expect.poll(() => tab.complaints.join()).toMatch(/frame-ancestors|refused to connect|X-Frame-Options/i);
  expect(await decisions()).toBe(before);
  await page.reload();
  expect(await page.locator('#handle').innerText()).toBe(store.handle);
  await Promise.all([backIn(visitor), page.click('#allow')]);
  await visitor.close();
});

it('every page in every state: nothing that axe calls serious, nothing that sticks out', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const look = async (name: string, title: string): Promise<void> => {
    expect(await heading(visitor)).toBe(title);
    expect(await visitor.findings(), name).toEqual([]);
    await visitor.shoot(name);
  };
  await page.goto(`${market.url}/mcp/connect`);
  await look('connect', 'Connect a program');
  await page.goto(`${market.url}/mcp/connect/grants`);
  await look('grants', 'What acts for you');
  await page.fill('#merchant-key', 'nothing');
  await page.click('#by-key button');
  await page.locator('#merchant-key-fault', { hasText: 'no key in force' }).waitFor();
  await look('grants-fault', 'What acts for you');
  await page.fill('#merchant-key', store.key);
  await page.click('#by-key button');
  await page.locator('#none').waitFor();
  await look('grants-none', 'What acts for you');
  const first = await connect(visitor);
  expect(first).not.toBe('');
  await connect(visitor);
  await page.goto(`${market.url}/mcp/connect/grants`);
  await page.fill('#merchant-key', store.key);
  await page.click('#by-key button');
  await page.locator('[data-revoke]').first().click();
  await page.locator('#said', { hasText: 'Revoked' }).waitFor();
  await look('grants-listed', 'What acts for you');
  const begun = await client.begin(market.url, { scope: 'market:read market:me market:write', name: 'W'.repeat(60) });
  await page.goto(begun.url);
  await look('consent', CONSENT);
  await page.fill('#merchant-key', store.key);
  await page.locator('#proven').waitFor();
  await look('consent-proven', CONSENT);
  await Promise.all([backIn(visitor), page.click('#allow')]);
  await page.goBack();
  await look('consent-decided', 'This attempt to connect is over');
  await visitor.close();
});
