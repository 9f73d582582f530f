import { beforeEach, describe, expect, it } from 'vitest';
import { CLIENT_SHAPES } from '../support/oauth-shapes.ts';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket, type OpenedStore } from './market.ts';
import { everyRow, formsIn, type Overheard, overhear } from './overhear.ts';
import { stubClient } from './stub-client.ts';
import { CONFIRM, fillBack, fillJoin, heading, readShown, send } from './walk.ts';

// A person connects a program to a store in a real browser, uses it, lists the connection and revokes it. The key appears only in headers.

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

const PROVE = expect.stringMatching(/^POST \/oauth\/interaction\/[^/]+\/prove authorization$/);
const PROVE_BY_CODE = expect.stringMatching(/^POST \/oauth\/interaction\/[^/]+\/prove body$/);
const LIST = 'GET /api/grants authorization';
const REVOKE = expect.stringMatching(/^POST \/api\/grants\/[0-9a-f-]{36}\/revoke authorization$/);

/** Collects everything from this visit that is stored or that somebody could read later. */
async function collectRemains(
  visitor: Visitor,
  heard: Overheard,
): Promise<Record<'rows' | 'log' | 'said' | 'kept' | 'cookies' | 'page', string>> {
  const { cookies } = await visitor.page.context().storageState();
  return {
    ...{ rows: await everyRow(market), log: market.logged(), said: heard.readAllSent(), kept: await visitor.kept() },
    ...{ cookies: JSON.stringify(cookies), page: await visitor.page.content() },
  };
}

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
    // Insert the text at once, as from the clipboard. The page checks a complete key without a click.
    await page.keyboard.insertText(store.key);
    await page.locator('#proven').waitFor();
    expect(await page.locator('#handle').innerText()).toBe(store.handle);
    expect(await page.inputValue('#merchant-key')).toBe('');
    expect(await page.content()).not.toContain(store.key);
    expect(await focused(visitor)).toBe('proven');
    // A second Enter must not allow anything.
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
    expect(await heard.placesOf(store.key)).toEqual([PROVE]);
    const [url = ''] = heard.readAllSent().match(/\/oauth\/interaction\/[\w-]+/) ?? [];
    const uid = url.split('/').at(-1) ?? '';
    expect(uid).not.toBe('');
    // Go back to a page of the market, to see its storage and history.
    await page.goBack();
    expect(await heading(visitor)).toBe('This attempt to connect is over');
    const places = { ...(await collectRemains(visitor, heard)), answers: JSON.stringify([tokens, answered.message]) };
    expect(formsIn(store.key, places)).toEqual([]);
    const secrets = {
      ...{ uid, access: tokens.access_token, refresh: tokens.refresh_token ?? '' },
      code: client.returnedParameters().get('code') ?? '',
    };
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length, name).toBeGreaterThan(20);
      const { rows, log } = places;
      expect(formsIn(secret, { rows, log }), name).toEqual([]);
    }
    await visitor.close();
  });

  it('a program is connected by a pairing code as people type it', async () => {
    const visitor = await visit();
    const { page } = visitor;
    const heard = overhear(visitor);
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
    expect(await heard.placesOf(code.toLowerCase())).toEqual([PROVE_BY_CODE]);
    expect(await heard.placesOf(store.key)).toEqual([]);
    expect(visitor.complaints).toEqual([]);
    await page.goBack();
    const { said: _said, ...places } = await collectRemains(visitor, heard);
    for (const spelled of [code, code.toLowerCase(), code.toUpperCase()]) expect(formsIn(spelled, places)).toEqual([]);
    expect(formsIn(store.key, places)).toEqual([]);
    // The link works only once.
    await page.goto((await client.begin(market.url)).url);
    await page.fill('#pairing-code', code);
    await page.locator('#pairing-code-fault', { hasText: 'This code is not valid' }).waitFor();
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
    expect(await heard.placesOf(store.key)).toEqual([LIST, REVOKE]);
    expect(formsIn(store.key, await collectRemains(visitor, heard))).toEqual([]);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

/** Connects without the keyboard, for tests of other things. */
async function connect(visitor: Visitor): Promise<string> {
  const { page } = visitor;
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  await page.fill('#merchant-key', store.key);
  await Promise.all([backIn(visitor), page.click('#allow')]);
  const { access_token } = await client.redeem(market.url, begun);
  await client.call(market.url, access_token, 'me');
  return access_token;
}

const provenHosts = async (): Promise<unknown> => {
  const { identity } = (await market.ask('/api/official', undefined)).body as { identity?: Record<string, unknown> };
  return identity?.['hosted_proven_hosts'];
};

/** Returns the reason with which a tool refuses. Null if it does not refuse. */
async function refusalOf(token: string, tool: string): Promise<unknown> {
  const { result } = (await client.call(market.url, token, tool)).message;
  const { reason } = (result?.['structuredContent'] ?? {}) as { reason?: unknown };
  return result?.['isError'] === true ? reason : null;
}

/** Opens a store through the link on the page, in a new tab. */
async function openStoreInNewTab(visitor: Visitor, handle: string): Promise<{ key: string; codes: string[] }> {
  const tab = await visitor.opened('#proof a[href="/join"]');
  await fillJoin(tab, handle);
  await send(tab, 'form[data-begin] button[type=submit]');
  const shown = await readShown(tab);
  await fillBack(tab, shown);
  await send(tab, CONFIRM);
  expect(await heading(tab)).toBe('Your store is open');
  expect(tab.complaints).toEqual([]);
  await tab.page.close();
  return shown;
}

it('who has no store opens one on the way; the program proves its host by reading me, is listed, and ends when revoked', async () => {
  const visitor = await browser.visitor({ viewport: { width: 390, height: 844 } });
  const { page } = visitor;
  const heard = overhear(visitor);
  const begun = await client.begin(market.url, { document: CLIENT_SHAPES.claudeCode.document });
  await page.goto(begun.url);
  const asked = await page.locator('main').innerText();
  expect(asked).toContain('Terminal assistant, as it calls itself');
  expect(asked).toContain('claude.ai, which publishes what it is');
  expect(asked).toContain('A program on this device (127.0.0.1)');
  expect(asked).toContain('Read what is yours');
  expect(asked).not.toContain('Act for you');
  const shown = await openStoreInNewTab(visitor, 'opened-on-the-way');
  await page.fill('#merchant-key', shown.key);
  await page.locator('#proven').waitFor();
  expect(await page.locator('#handle').innerText()).toBe('opened-on-the-way');
  await Promise.all([backIn(visitor), page.click('#allow')]);

  const { access_token: token, refresh_token: refreshing = '' } = await client.redeem(market.url, begun);
  expect(await refusalOf(token, 'my_purchases')).toBe('host_not_proven');
  expect(await provenHosts()).toEqual([]);
  expect(JSON.stringify((await client.call(market.url, token, 'me')).message)).toContain('opened-on-the-way');
  expect(await provenHosts()).toEqual(['claude.ai']);
  expect(await refusalOf(token, 'my_purchases')).toBeNull();

  await page.goto(`${market.url}/mcp/connect/grants`);
  await page.fill('#merchant-key', shown.key);
  await page.click('#by-key button');
  const item = await page.locator('#list li').innerText();
  for (const part of ['Terminal assistant', 'claude.ai', '127.0.0.1', 'In force; it first read your record']) {
    expect(item).toContain(part);
  }
  await page.click('[data-revoke]');
  await page.locator('#said', { hasText: 'Revoked' }).waitFor();
  expect((await client.call(market.url, token, 'me')).status).toBe(401);
  expect(await client.refresh(market.url, begun, refreshing)).toBe(400);
  // A host that was shown as proven stays proven.
  expect(await provenHosts()).toEqual(['claude.ai']);

  expect(visitor.complaints).toEqual([]);
  // A new key is not valid yet when it is typed back, so /join takes it in the form and not in a header.
  expect(await heard.placesOf(shown.key)).toEqual(['POST /join body', PROVE, LIST, REVOKE]);
  const { said: _said, ...places } = await collectRemains(visitor, heard);
  for (const secret of [shown.key, ...shown.codes, token, refreshing]) expect(formsIn(secret, places)).toEqual([]);
  await visitor.close();
});
