import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket } from './market.ts';
import { beginJoin, beginRecover, beginRotate, confirm, heading, meOf, readShown } from './walk.ts';

const browser = testBrowser();
const market = browserMarket();
let count = 0;
const nextHandle = (): string => {
  count += 1;
  return `walker-${count}`;
};

const KEY = /^aisle_sk_[0-9A-Za-z]{49}$/;
const CODE = /^aisle_rc_[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$/;

async function expectClean(visitor: Visitor, shown: { key: string; codes: string[] }): Promise<void> {
  expect(visitor.complaints).toEqual([]);
  const kept = await visitor.kept();
  const page = await visitor.page.content();
  for (const secret of [shown.key, ...shown.codes]) {
    expect(kept).not.toContain(secret);
    expect(page).not.toContain(secret);
    expect(market.logged()).not.toContain(secret);
  }
  const cookies = await visitor.page.context().cookies();
  expect(cookies.length).toBeGreaterThan(0);
  for (const { name, httpOnly, secure, sameSite, path } of cookies) {
    expect(name).toMatch(/^__Host-openaisle-(stage|form)$/);
    expect({ httpOnly, secure, sameSite, path }).toEqual({
      httpOnly: true,
      secure: true,
      sameSite: 'Strict',
      path: '/',
    });
  }
}

describe.each([
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const)('by keyboard alone, $width px wide and $colorScheme', ({ width, colorScheme }) => {
  const visit = () => browser.visitor({ viewport: { width, height: 844 }, colorScheme });

  it('a store is opened', async () => {
    const visitor = await visit();
    const handle = nextHandle();
    await beginJoin(visitor, market, handle);
    expect(await heading(visitor)).toBe('Save this now');
    const shown = await readShown(visitor);
    expect(shown.key).toMatch(KEY);
    expect(shown.codes).toHaveLength(8);
    for (const code of shown.codes) expect(code).toMatch(CODE);
    expect(await visitor.findings()).toEqual([]);
    expect(await meOf(market, shown.key)).toBe(401);
    await confirm(visitor, shown);
    expect(await heading(visitor)).toBe('Your store is open');
    expect(await visitor.page.locator('main').innerText()).toContain(handle);
    expect(await meOf(market, shown.key)).toBe(200);
    expect((await market.ask(`/api/store/${handle}`, undefined)).status).toBe(200);
    await expectClean(visitor, shown);
    await visitor.close();
  });

  it('a key is rotated', async () => {
    const visitor = await visit();
    const store = await market.openStore(nextHandle());
    await beginRotate(visitor, market, store);
    const shown = await readShown(visitor);
    expect(shown.key).toMatch(KEY);
    expect(shown.codes).toEqual([]);
    expect(await meOf(market, store.key)).toBe(200);
    await confirm(visitor, shown);
    expect(await heading(visitor)).toBe('The key is replaced');
    expect([await meOf(market, store.key), await meOf(market, shown.key)]).toEqual([401, 200]);
    await expectClean(visitor, shown);
    await visitor.close();
  });

  it('a store is won back', async () => {
    const visitor = await visit();
    const store = await market.openStore(nextHandle());
    await beginRecover(visitor, market, ` ${store.codes[4]?.toLowerCase()} `);
    const shown = await readShown(visitor);
    expect(shown.codes).toHaveLength(8);
    await confirm(visitor, shown);
    expect(await heading(visitor)).toBe('The store is yours again');
    expect([await meOf(market, store.key), await meOf(market, shown.key)]).toEqual([401, 200]);
    const begin = { action: 'begin', recovery_code: store.codes[0] };
    expect((await market.ask('/api/recovery', begin)).status).toBe(403);
    await expectClean(visitor, shown);
    await visitor.close();
  });
});

describe('saving', () => {
  it('works by copy buttons, which say that they have copied', async () => {
    const visitor = await browser.visitor({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = visitor;
    await beginJoin(visitor, market, nextHandle());
    const { key, codes } = await readShown(visitor);
    for (const [what, expected] of [
      ['key', key],
      ['codes', codes.join('\n')],
    ] as const) {
      await visitor.tabTo(`button[data-copy=${what}]`);
      await page.keyboard.press('Enter');
      // Wait for the message of this button, because an earlier button's may still be shown.
      await page.locator(`button[data-copy=${what}]`, { hasText: /^Copied$/ }).waitFor();
      expect(await page.locator('#said').innerText()).toContain('Copied');
      expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(expected);
    }
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  it.each([true, false])('works by a file that holds all of it, with script: %s', async (javaScriptEnabled) => {
    const visitor = await browser.visitor({ javaScriptEnabled });
    const handle = nextHandle();
    await beginJoin(visitor, market, handle);
    const { key, codes } = await readShown(visitor);
    await visitor.page.locator('a[download]').focus();
    const [download] = await Promise.all([visitor.page.waitForEvent('download'), visitor.page.keyboard.press('Enter')]);
    expect(download.suggestedFilename()).toBe(`openaisle-${handle}.txt`);
    const text = readFileSync(await download.path(), 'utf8');
    for (const part of [key, ...codes, handle, market.url]) expect(text).toContain(part);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

describe('the theme', () => {
  it('follows the system, and a switch that the device remembers', async () => {
    const visitor = await browser.visitor({ colorScheme: 'dark' });
    const { page } = visitor;
    const paper = (): Promise<string> => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    await page.goto(`${market.url}/join`);
    const dark = await paper();
    expect(await page.locator('#theme').innerText()).toBe('Light theme');
    await visitor.tabTo('#theme');
    await page.keyboard.press('Enter');
    const light = await paper();
    expect(light).not.toBe(dark);
    await page.goto(`${market.url}/docs/errors`);
    expect(await paper()).toBe(light);
    expect(await visitor.kept()).toBe('[{"theme":"light"},{},null]');
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});
