import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { testBrowser } from './browser.ts';
import { pagesOf, REFUSED_PAGES, storefrontGround } from './storefront-ground.ts';

// Keyboard only: Tab must reach every control in page order, each must be visible with the focus, and Tab must leave the page at the end.

const browser = testBrowser();
const ground = storefrontGround();

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };

/** Numbers all controls in document order and describes each. */
const NUMBER_STOPS = `(() => {
  const usable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex]';
  const stops = [...document.querySelectorAll(usable)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }) &&
    // Only one radio button of a group is a tab stop. Arrow keys reach the others.
    (element.type !== 'radio' || element.checked || element === document.querySelector('[name="' + element.name + '"]')));
  stops.forEach((element, at) => { element.dataset.stop = String(at); });
  return stops.map((element) => element.outerHTML.slice(0, 120));
})()`;

interface Stop {
  /** Index of the focused control. Null if the focus has left the page. */
  at: number | null;
  fault: string | null;
}

/** Describes the focused element and what is wrong with its appearance. */
const LOOK = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body || element === document.documentElement) return { at: null, fault: null };
  const name = element.outerHTML.slice(0, 120);
  // Browsers make a scrollable area a tab stop of its own.
  const at = element.dataset.stop === undefined ? -1 : Number(element.dataset.stop);
  const style = getComputedStyle(element);
  if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) return { at, fault: 'no ring: ' + name };
  const [box] = element.getClientRects();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) return { at, fault: 'out of sight: ' + name };
  const hit = document.elementFromPoint(x, y);
  return { at, fault: element.contains(hit) ? null : 'covered: ' + name };
})()`;
const PLAYS_ORDER = `[...document.querySelectorAll('[tabindex]')].filter((element) => element.tabIndex > 0).length`;

/** Lists faults in the tab order of a page, from its first stop until the focus leaves it. */
async function faultsOf(page: Page): Promise<string[]> {
  const names = await page.evaluate<string[]>(NUMBER_STOPS);
  const faults: string[] = [];
  let wanted = 0;
  for (let pressed = 0; pressed < names.length + 20; pressed += 1) {
    await page.keyboard.press('Tab');
    const { at, fault } = await page.evaluate<Stop>(LOOK);
    if (at === null || (at === 0 && wanted === names.length)) break;
    if (fault !== null) faults.push(fault);
    if (at < 0) continue;
    if (at !== wanted) faults.push(`${names[at]} comes in place of ${names[wanted]}`);
    wanted = at + 1;
  }
  if (wanted < names.length) faults.push(`never reached: ${names[wanted]}`);
  if ((await page.evaluate<number>(PLAYS_ORDER)) > 0) faults.push('a tabindex above 0');
  return faults;
}

for (const [name, viewport] of Object.entries({ phone: PHONE, 'wide screen': WIDE })) {
  it(`Tab goes through every page in its order and out of it again, on a ${name}`, async () => {
    const visitor = await browser.visitor({ viewport });
    const { page } = visitor;
    const faults: string[] = [];
    // On a wide screen the order could only differ where columns stand side by side.
    const pages = viewport === PHONE ? [...pagesOf(ground.ids), ...REFUSED_PAGES] : pagesOf(ground.ids).slice(0, 7);
    for (const [path] of pages) {
      await page.goto(`${ground.url}${path}`);
      faults.push(...(await faultsOf(page)).map((fault) => `${path} ${fault}`));
    }
    expect(faults).toEqual([]);
    await visitor.close();
  });
}

it('the first stop leads past the header, on every page', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  for (const [path] of [...pagesOf(ground.ids), ...REFUSED_PAGES]) {
    await page.goto(`${ground.url}${path}`);
    await page.keyboard.press('Tab');
    const skip = page.locator('.skip');
    expect([path, await skip.evaluate((element) => element === element.ownerDocument.activeElement)]).toEqual([
      path,
      true,
    ]);
    const box = await skip.boundingBox();
    expect([path, (box?.x ?? -1) >= 0 && (box?.y ?? -1) >= 0]).toEqual([path, true]);
    await page.keyboard.press('Enter');
    expect([path, await page.evaluate('document.activeElement.id')]).toEqual([path, 'content']);
    await page.keyboard.press('Tab');
    const isInside = `document.activeElement.closest('main, footer') !== null`;
    expect([path, await page.evaluate(isInside)]).toEqual([path, true]);
  }
  await visitor.close();
});

it('the theme switch is a button: by keyboard it changes the colours, and the choice stays', async () => {
  const visitor = await browser.visitor({ colorScheme: 'light' });
  const { page } = visitor;
  const paper = (): Promise<string> => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  await page.goto(`${ground.url}/shelves`);
  const light = await paper();
  await page.locator('#theme').focus();
  await page.keyboard.press('Enter');
  const dark = await paper();
  expect(dark).not.toBe(light);
  expect(await page.textContent('#theme')).toBe('Light theme');
  await page.goto(`${ground.url}/merchants`);
  expect(await paper()).toBe(dark);
  await page.locator('#theme').focus();
  await page.keyboard.press('Space');
  expect(await paper()).toBe(light);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await paper()).toBe(light);
  await visitor.close();
});

it('nothing moves for who asks for that', async () => {
  const visitor = await browser.visitor({ reducedMotion: 'reduce' });
  const { page } = visitor;
  const moving = `[...document.querySelectorAll('*')].filter((element) => {
    const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
    return parseFloat(transitionDuration) > 0 || animationName !== 'none' || scrollBehavior === 'smooth';
  }).map((element) => element.outerHTML.slice(0, 120))`;
  for (const [path] of pagesOf(ground.ids)) {
    await page.goto(`${ground.url}${path}`);
    expect([path, await page.evaluate(moving)]).toEqual([path, []]);
  }
  await visitor.close();
});
