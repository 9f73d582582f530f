import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { testBrowser } from './browser.ts';
import { pagesOf, REFUSED_PAGES, storefrontGround } from './storefront-ground.ts';

// Checks in a real browser the numbers of test/page-weights.test.ts.

const browser = testBrowser();
const ground = storefrontGround();
const MAX_BEFORE_PAINT = 4;
const KB = 1024;
const MAX_SHIFT = 0.001;

/** Resources that the browser reports as render-blocking. */
const BLOCKING = `performance.getEntriesByType('resource').filter((one) => one.renderBlockingStatus === 'blocking').map((one) => one.name)`;
const PAINTED = `new Promise((resolve) => new PerformanceObserver((list, observer) => {
  if (list.getEntriesByName('first-contentful-paint').length === 0) return;
  observer.disconnect();
  resolve(true);
}).observe({ type: 'paint', buffered: true }))`;

const WATCH_SHIFTS = `window.shift = 0; new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) window.shift += value;
}).observe({ type: 'layout-shift' })`;
const TWO_FRAMES = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))';

it('every page is painted with no more than four answers, while everything else is still held back', async () => {
  for (const [path] of pagesOf(ground.ids)) {
    const visitor = await browser.visitor();
    const { page } = visitor;
    const answered: string[] = [];
    const held = Promise.withResolvers<void>();
    await page.route('**/*', async (route) => {
      const request = route.request();
      const isNeeded =
        ['document', 'stylesheet'].includes(request.resourceType()) || request.url().includes('/assets/theme-');
      if (isNeeded) answered.push(request.url());
      else await held.promise;
      await route.continue().catch(() => {});
    });
    await page.goto(`${ground.url}${path}`, { waitUntil: 'commit' });
    expect([path, await page.evaluate(PAINTED)]).toEqual([path, true]);
    expect([path, answered.length]).toEqual([path, expect.toSatisfy((n: number) => n <= MAX_BEFORE_PAINT)]);
    held.resolve();
    await page.waitForLoadState('load');
    const blocking = await page.evaluate<string[]>(BLOCKING);
    expect([path, 1 + blocking.length]).toEqual([path, expect.toSatisfy((n: number) => n <= MAX_BEFORE_PAINT)]);
    await visitor.close();
  }
});

/** Loads a page until its load event. Returns all requested URLs, and the size of scripts and styles on the wire. */
async function loadPage(page: Page, address: string): Promise<{ urls: string[]; script: number; style: number }> {
  const urls: string[] = [];
  const sizes: Promise<[kind: string, bytes: number]>[] = [];
  const note = (request: Request): void => {
    urls.push(request.url());
    const kind = request.resourceType();
    if (kind === 'script' || kind === 'stylesheet')
      sizes.push(request.sizes().then(({ responseBodySize }) => [kind, responseBodySize]));
  };
  page.on('requestfinished', note);
  await page.goto(address, { waitUntil: 'load' });
  const all = await Promise.all(sizes);
  page.off('requestfinished', note);
  const sum = (kind: string): number =>
    all.filter(([one]) => one === kind).reduce((total, [, bytes]) => total + bytes, 0);
  return { urls, script: sum('script'), style: sum('stylesheet') };
}

it('everything comes from the market itself, and scripts and styles stay light', async () => {
  for (const [path] of [...pagesOf(ground.ids), ...REFUSED_PAGES]) {
    // Use a new visitor, so that nothing is cached.
    const visitor = await browser.visitor();
    const { urls, script, style } = await loadPage(visitor.page, `${ground.url}${path}`);
    expect(urls.length).toBeGreaterThan(2);
    expect([path, urls.filter((one) => !one.startsWith(`${ground.url}/`))]).toEqual([path, []]);
    expect([path, script <= 14 * KB, style <= 14 * KB, style > 0]).toEqual([path, true, true, true]);
    await visitor.close();
  }
});

/** Loads the fonts for text. The monospaced font is requested during layout, so it may come after the first paint. */
const TEXT_FONTS = `Promise.all(['Inter', 'Source Serif'].map((name) => document.fonts.load('1em "' + name + '"'))).then(() => true)`;

it('nothing moves when scripts and the font of machine facts come late', async () => {
  for (const [path] of pagesOf(ground.ids)) {
    const visitor = await browser.visitor({ viewport: { width: 390, height: 844 } });
    const { page } = visitor;
    const held = Promise.withResolvers<void>();
    await page.route('**/assets/*.{js,woff2}', async (route) => {
      if (/\.js$|jetbrains-mono/.test(route.request().url()) && !route.request().url().includes('/assets/theme-'))
        await held.promise;
      await route.continue();
    });
    await page.goto(`${ground.url}${path}`, { waitUntil: 'commit' });
    await page.evaluate(PAINTED);
    await page.evaluate(TEXT_FONTS);
    await page.evaluate(TWO_FRAMES);
    await page.evaluate(WATCH_SHIFTS);
    held.resolve();
    await page.waitForLoadState('load');
    await page.evaluate('document.fonts.ready.then(() => true)');
    await page.evaluate(TWO_FRAMES);
    // A word may change in place, but its neighbors must not shift.
    const shift = await page.evaluate<number>('window.shift');
    expect([path, shift]).toEqual([path, expect.toSatisfy((n: number) => n < MAX_SHIFT)]);
    await visitor.close();
  }
});
