import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { TAKES_SHOTS, testBrowser } from './browser.ts';
import { pagesOf, storefrontGround } from './storefront-ground.ts';

// Printed pages must be black on white, without controls, and show the URLs of links. Also checks pages in forced colors.

const browser = testBrowser();
const ground = storefrontGround();
const SHOTS = join(import.meta.dirname, 'shots');
/** Size of A4 without margins, in CSS pixels. */
const PAPER = { width: 674, height: 986 };

/** Finds visible controls, clipped elements, and text that is not dark on white. */
const OUT_OF_PLACE = `(() => {
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const pressed = seen('header nav, footer, main button, main .button, form.search, .skip').map((element) => 'to press: ' + element.outerHTML.slice(0, 80));
  const cut = seen('.line, .written, .title, pre, code')
    .filter((element) => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== 'visible')
    .map((element) => 'cut: ' + element.outerHTML.slice(0, 80));
  const { backgroundColor, color } = getComputedStyle(document.body);
  return [...pressed, ...cut, ...(backgroundColor === 'rgb(255, 255, 255)' && color === 'rgb(0, 0, 0)' ? [] : [color + ' on ' + backgroundColor])];
})()`;
const WIDER_THAN_PAPER = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

it('every page can be printed, whatever theme was chosen', async () => {
  mkdirSync(SHOTS, { recursive: true });
  const visitor = await browser.visitor({ viewport: PAPER, colorScheme: 'dark' });
  const { page } = visitor;
  for (const [path, name] of pagesOf(ground.ids)) {
    await page.goto(`${ground.url}${path}`);
    await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
    await page.emulateMedia({ media: 'print' });
    const faults = await page.evaluate<string[]>(OUT_OF_PLACE);
    // Forms are filled in on screen and are not made for print.
    expect([path, /^\/(?:join|rotate|recovery)/.test(path) ? [] : faults]).toEqual([path, []]);
    expect([path, await page.evaluate<number>(WIDER_THAN_PAPER)]).toEqual([path, 0]);
    if (TAKES_SHOTS) await page.screenshot({ path: join(SHOTS, `${name}-print.png`), fullPage: true });
    const pdf = await page.pdf({ format: 'A4' });
    expect([path, pdf.subarray(0, 5).toString()]).toEqual([path, '%PDF-']);
    await page.emulateMedia({ media: 'screen' });
  }
  await visitor.close();
});

it('links say on paper where they lead', async () => {
  const visitor = await browser.visitor({ viewport: PAPER });
  const { page } = visitor;
  const after = (selector: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const view = element.ownerDocument.defaultView;
        return view === null ? '' : view.getComputedStyle(element, '::after').content;
      });
  await page.emulateMedia({ media: 'print' });
  await page.goto(`${ground.url}/listing/${ground.ids[2]}`);
  expect(await after('.facts a[href^="https://explorer.example"]')).toContain('explorer.example/address/0x');
  // The link's text is already its URL.
  expect(await after('.written a')).toBe('none');
  await page.goto(`${ground.url}/shelves`);
  expect(await after('.title')).toContain('/listing/');
  await visitor.close();
});

it('with forced colours everything that shows a state or a place still does', async () => {
  const visitor = await browser.visitor({ forcedColors: 'active' });
  const { page } = visitor;
  await page.goto(`${ground.url}/shelves/data`);
  const edge = (selector: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const view = element.ownerDocument.defaultView;
        return view === null ? '' : view.getComputedStyle(element).borderBottomWidth;
      });
  expect(await edge('.aisles a[aria-current]')).not.toBe(await edge('.aisles a:not([aria-current])'));
  await page.locator('#q').focus();
  expect(await page.locator('#q').evaluate((element) => element.matches(':focus-visible'))).toBe(true);
  if (TAKES_SHOTS) await page.screenshot({ path: join(SHOTS, 'shelves-forced-colours.png') });
  const contrast = await browser.visitor({ contrast: 'more' });
  await contrast.page.goto(`${ground.url}/shelves/data`);
  const colours = `['.meta', '.summary', '.line'].map((one) => getComputedStyle(document.querySelector(one)).color)`;
  expect(new Set(await contrast.page.evaluate<string[]>(colours)).size).toBe(1);
  await contrast.close();
  await visitor.close();
});
