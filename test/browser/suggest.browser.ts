import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { editListing } from '../support/seed.ts';
import { testBrowser, type Visitor } from './browser.ts';
import { storefrontGround } from './storefront-ground.ts';

// The page suggests titles while the user types. The combobox works by keyboard and pointer, and stays silent without a suggestion.

const browser = testBrowser();
const ground = storefrontGround();
const FIELD = '#q';
const LIST = '#suggestions';
const SHELVES = '**/api/shelves?**';
const NEXT_FRAME = 'new Promise((resolve) => requestAnimationFrame(() => resolve(true)))';

const titles = (page: Page): Promise<string[]> => page.locator(`${LIST} [role=option] bdi`).allTextContents();

async function typeWords(path: string, words: string): Promise<Visitor> {
  const visitor = await browser.visitor();
  await visitor.page.goto(`${ground.url}${path}`);
  await visitor.page.locator(FIELD).pressSequentially(words);
  await visitor.page.locator(LIST).waitFor({ state: 'visible' });
  return visitor;
}

it('the arrows choose a title and Enter opens it; Escape goes back to the words', async () => {
  for (const path of ['/', '/shelves']) {
    const visitor = await typeWords(path, 'invoi');
    const { page } = visitor;
    const field = page.locator(FIELD);
    expect(await titles(page)).toContain('Reading of invoices in eleven languages');
    expect(await field.getAttribute('aria-expanded')).toBe('true');
    expect(await page.locator('form.search [role=status]').textContent()).toMatch(/^\d listings? fits?\.$/);
    expect(await visitor.findings()).toEqual([]);
    await page.keyboard.press('ArrowDown');
    expect(await field.getAttribute('aria-activedescendant')).toBe('suggestion-0');
    expect(await page.locator(`${LIST} [aria-selected=true]`).count()).toBe(1);
    await page.keyboard.press('ArrowUp');
    expect(await field.getAttribute('aria-activedescendant')).toBeNull();
    await page.keyboard.press('ArrowUp');
    expect(await field.getAttribute('aria-activedescendant')).toBe(`suggestion-${(await titles(page)).length - 1}`);
    if (path === '/') await visitor.shoot('suggestions');
    await page.keyboard.press('Escape');
    expect(await page.locator(LIST).isVisible()).toBe(false);
    expect([await field.inputValue(), await field.getAttribute('aria-expanded')]).toEqual(['invoi', 'false']);
    await page.keyboard.type('c');
    await page.locator(LIST).waitFor({ state: 'visible' });
    const [first = ''] = await titles(page);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/listing/*');
    expect(await page.textContent('h1')).toBe(first);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  }
});

it('Enter without a choice searches, and a press on a title opens it', async () => {
  const visitor = await typeWords('/', 'advisor');
  const { page } = visitor;
  await page.keyboard.press('Enter');
  await page.waitForURL('**/shelves?q=advisor');
  await page.locator(FIELD).press('End');
  await page.locator(FIELD).pressSequentially(' ind');
  await page.locator(`${LIST} [role=option]`).first().click();
  await page.waitForURL('**/listing/*');
  expect(await page.textContent('h1')).toContain('Postgres index advisor');
  await visitor.close();
});

it('moves nothing on the page, asks once for words that are typed quickly, and within what narrows the shelves', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto(`${ground.url}/shelves?aisle=data&q=&price=30`);
  await page.evaluate(`new PerformanceObserver((list) => { window.shifts = (window.shifts ?? 0) + list.getEntries().length; })
    .observe({ type: 'layout-shift', buffered: true })`);
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/shelves')) asked.push(new URL(request.url()).search);
  });
  await page.locator(FIELD).pressSequentially('bakeries');
  await page.locator(LIST).waitFor({ state: 'visible' });
  expect(asked).toEqual(['?q=bakeries&fields=outline&limit=8&aisle=data&max_price_usdc=30']);
  expect(await titles(page)).toEqual(
    expect.arrayContaining([expect.stringContaining('Opening hours of 41,000 European bakeries')]),
  );
  expect(await page.evaluate('window.shifts ?? 0')).toBe(0);
  await visitor.close();
});

it('says nothing while it cannot ask, and the form still searches', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  for (const fail of ['503', 'broken', 'cut'] as const) {
    await page.goto(ground.url);
    await page.route(SHELVES, async (route) => {
      if (fail === 'cut') await route.abort();
      else await route.fulfill({ status: fail === '503' ? 503 : 200, body: '{"listings":' });
    });
    const answered = fail === 'cut' ? page.waitForEvent('requestfailed') : page.waitForResponse(SHELVES);
    await page.locator(FIELD).pressSequentially('invoices');
    await answered;
    await page.evaluate(NEXT_FRAME);
    expect([fail, await page.locator(LIST).isVisible()]).toEqual([fail, false]);
    await page.unroute(SHELVES);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/shelves?q=invoices');
    expect(await page.textContent('main')).toContain('Reading of invoices');
  }
  await visitor.close();
});

it('newer words end the older request, and its answer is not shown', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto(ground.url);
  const held = Promise.withResolvers<void>();
  await page.route(SHELVES, async (route) => {
    if (new URL(route.request().url()).searchParams.get('q') === 'tide') await held.promise;
    await route.continue().catch(() => {});
  });
  const ofTide = (request: Request): boolean => request.url().includes('q=tide&');
  const asked = page.waitForRequest(ofTide);
  const givenUp = page.waitForEvent('requestfailed', ofTide);
  await page.locator(FIELD).pressSequentially('tide');
  await asked;
  await page.locator(FIELD).fill('bakeries');
  await givenUp;
  await page.locator(LIST).waitFor({ state: 'visible' });
  held.resolve();
  await page.evaluate(NEXT_FRAME);
  for (const title of await titles(page)) expect(title).toContain('bakeries');
  await visitor.close();
});

it('a title is text, whatever it is', async () => {
  const title = 'Sundial <img src=x onerror=alert(1)>\u202edrawkcab';
  await editListing(ground.running.market.database, ground.ids[8] ?? 0n, { title });
  await ground.running.eventsSettled();
  const visitor = await typeWords('/', 'sundial');
  expect(await titles(visitor.page)).toEqual(['Sundial <img src=x onerror=alert(1)>\u{fffd}drawkcab']);
  expect(await visitor.page.locator(`${LIST} img`).count()).toBe(0);
  await visitor.close();
});
