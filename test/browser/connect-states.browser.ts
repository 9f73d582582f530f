import sql from 'sql-template-tag';
import { beforeEach, expect, it } from 'vitest';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket, type OpenedStore } from './market.ts';
import { overhear } from './overhear.ts';
import { stubClient } from './stub-client.ts';
import { heading } from './walk.ts';

// Pages of the hosted connector in error states, with screenshots of all of them.

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
const OVER = 'This attempt to connect is over';
const backIn = ({ page }: Visitor) => page.waitForURL(`${client.redirectUri}?**`);
const focused = ({ page }: Visitor) => page.evaluate<string>('document.activeElement.id');

const decisions = async (): Promise<bigint> =>
  (
    await market.database.one<{ count: bigint }>(sql`
      select count(*) as count from connect_proofs where decided_at is not null`)
  ).count;

async function connect(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  await page.fill('#merchant-key', store.key);
  await Promise.all([backIn(visitor), page.click('#allow')]);
  const { access_token } = await client.redeem(market.url, begun);
  expect((await client.call(market.url, access_token, 'me')).status).toBe(200);
}

it('wrong tries are told at their field, five end the attempt, and cancel tells the program', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  const fault = (id: string) => page.locator(`#${id}-fault`);
  await page.click('#by-key button');
  expect(await fault('merchant-key').innerText()).toBe('Type or paste the key.');
  // A key typed into the wrong field must never be sent, not even to be refused.
  const heard = overhear(visitor);
  await page.fill('#pairing-code', store.key);
  await page.click('#by-code button');
  expect(await fault('pairing-code').innerText()).toContain('Enter the key and the pairing code in their own fields');
  expect(heard.readAllSent()).toBe('');
  for (let tries = 0; tries < 5; tries += 1) {
    await page.fill('#merchant-key', `wrong-${tries}`);
    await page.keyboard.press('Enter');
    await fault('merchant-key').filter({ hasText: 'key is not valid' }).waitFor();
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
  expect(client.returnedParameters().get('error')).toBe('access_denied');
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

it('a key that is replaced after the proof has to be shown again', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto((await client.begin(market.url)).url);
  await page.fill('#merchant-key', store.key);
  await page.locator('#proven').waitFor();
  const { body } = await market.ask('/api/rotate', { action: 'begin' }, store.key);
  const { session, csrf, merchant_key: key } = body;
  await market.ask('/api/rotate', { action: 'confirm', session, csrf }, String(key));
  await page.click('#allow');
  await page.locator('#said', { hasText: 'Enter the merchant key or a pairing code' }).waitFor();
  await page.fill('#merchant-key', String(key));
  await page.locator('#proven').waitFor();
  await Promise.all([backIn(visitor), page.click('#allow')]);
  expect(client.returnedParameters().get('code')).not.toBeNull();
  await visitor.close();
});

it('an attempt that took too long is over, and says what to do', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const begun = await client.begin(market.url);
  await page.goto(begun.url);
  const address = page.url();
  market.clock.set(market.clock.now() + 16 * 60_000);
  await page.fill('#merchant-key', store.key);
  await page.locator('#over').waitFor();
  expect(await focused(visitor)).toBe('over');
  expect(await page.locator('#over').innerText()).toContain('took too long');
  await page.click('#cancel');
  await page.locator('#cancel').waitFor({ state: 'hidden' });
  await page.goto(address);
  expect(await heading(visitor)).toBe(OVER);
  await visitor.close();
});

it('where the answer to a yes is lost, the page does not say that nothing was allowed', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto((await client.begin(market.url)).url);
  await page.route('**/prove', (route) => route.abort());
  await page.fill('#merchant-key', store.key);
  await page.locator('#said', { hasText: 'No answer came. Nothing was allowed.' }).waitFor();
  expect(await page.inputValue('#merchant-key')).toBe('');
  await page.unroute('**/prove');
  await page.fill('#merchant-key', store.key);
  await page.locator('#proven').waitFor();
  await page.route('**/decide', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.click('#allow');
  await page.locator('#said', { hasText: 'not known here whether this was decided' }).waitFor();
  expect(await page.locator('main').innerText()).not.toContain('Nothing was allowed');
  await page.unroute('**/decide');
  await page.click('#allow');
  await page.locator('#over').waitFor();
  expect(await page.locator('#over a').getAttribute('href')).toBe('/mcp/connect/grants');
  expect(await page.locator('#cancel').isVisible()).toBe(false);
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
  expect(await heading(other)).toBe(OVER);
  await other.close();
  const before = await decisions();
  const tab = await visitor.tab();
  // To a browser, another host name of the same machine is another site.
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
  await page.locator('#merchant-key-fault', { hasText: 'key is not valid' }).waitFor();
  await look('grants-fault', 'What acts for you');
  await page.fill('#merchant-key', store.key);
  await page.click('#by-key button');
  await page.locator('#none').waitFor();
  await look('grants-none', 'What acts for you');
  await connect(visitor);
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
  await look('consent-decided', OVER);
  await page.goto(`${market.url}/oauth/authorize?client_id=unknown&response_type=code`);
  await look('connect-fault', 'This program cannot be connected');
  await visitor.close();
});
