import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { isPlayed } from '../suite/rotation.ts';
import { findChromium } from './find-chromium.ts';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const SHOTS = join(import.meta.dirname, 'shots');
/** Whether to take screenshots, which are for people and slow. OPENAISLE_SHOTS=1 enables them. */
export const TAKES_SHOTS = process.env['OPENAISLE_SHOTS'] === '1';
/** JPEG quality in percent. A PNG of a long page takes too long. */
const QUALITY = 85;
const [NARROWEST, MIDDLE, WIDEST] = [390, 820, 1440];
const WIDTHS = [NARROWEST, MIDDLE, WIDEST];
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
const HEIGHT = 900;
export const SCHEMES = ['light', 'dark'] as const;

/** Creates one browser for all tests of a file. Each visitor has its own cookies. */
export function testBrowser(): { visitor(options?: BrowserContextOptions): Promise<Visitor> } {
  let browser: Browser | null = null;
  let looks = 0;
  const isLookPlayed = (): boolean => {
    looks += 1;
    return isPlayed(import.meta.filename, looks);
  };
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChromium(), args: ARGUMENTS });
  });
  afterAll(async () => {
    await browser?.close();
  });
  return {
    visitor: async (options = {}) => {
      if (browser === null) throw new Error('the browser runs only while tests do');
      const context = await browser.newContext({ viewport: { width: 1280, height: HEIGHT }, ...options });
      return createVisitor(await context.newPage(), isLookPlayed);
    },
  };
}

export interface Visitor {
  page: Page;
  /** Errors that the browser reported so far: from scripts, loading, or the policy. */
  complaints: string[];
  /** Opens another tab with the same cookies. */
  tab(): Promise<Visitor>;
  /** Returns the tab that this link opens. */
  opened(selector: string): Promise<Visitor>;
  /** Presses Tab until the element has the focus. Fails if the focus is invisible or never arrives. */
  tabTo(selector: string): Promise<void>;
  /** Returns data that a page can store beyond its lifetime: both kinds of storage, and the state of the history. */
  kept(): Promise<string>;
  /** Lists axe findings by WCAG 2.2 A and AA and by best practice, light and dark, on a phone and on a wide screen. */
  allFindings(): Promise<string[]>;
  /** Like `allFindings`, but returns no findings if this build skips this check of the page. */
  findings(): Promise<string[]>;
  /**
   * Checks that no width overflows and that no target is too small at the narrowest width. OPENAISLE_SHOTS=1 also takes light and dark
   * pictures.
   */
  shoot(name: string): Promise<void>;
  close(): Promise<void>;
}

const MAX_TABS = 60;
const IS_FOCUS_SEEN = `(() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
})()`;
const KEPT = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state])';
const STICKS_OUT = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
const SMALL_TARGETS = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
  .filter((element) => element.checkVisibility() && !element.closest('p, li:not(nav li), .skip, dd') && !element.classList.contains('skip'))
  .map((element) => (element.closest('label.choice') ?? element))
  .map((element) => [element.textContent.trim() || element.id, element.getBoundingClientRect()])
  .filter(([, { width, height }]) => height < 44 || width < 44)
  .map(([name, { width, height }]) => name + ' ' + Math.round(width) + 'x' + Math.round(height))`;

function createVisitor(page: Page, isLookPlayed: () => boolean): Visitor {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return {
    page,
    complaints,
    tab: async () => createVisitor(await page.context().newPage(), isLookPlayed),
    opened: async (selector) => {
      const [opened] = await Promise.all([page.context().waitForEvent('page'), page.click(selector)]);
      await opened.waitForLoadState();
      return createVisitor(opened, isLookPlayed);
    },
    tabTo: async (selector) => {
      const target = page.locator(selector);
      for (let pressed = 0; pressed < MAX_TABS; pressed += 1) {
        await page.keyboard.press('Tab');
        if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) {
          expect(await page.evaluate<boolean>(IS_FOCUS_SEEN), `the focus on ${selector} can be seen`).toBe(true);
          return;
        }
      }
      throw new Error(`${selector} is not reached by Tab`);
    },
    kept: () => page.evaluate<string>(KEPT),
    allFindings: () => findingsOf(page),
    findings: async () => (isLookPlayed() ? await findingsOf(page) : []),
    shoot: (name) => shoot(page, name),
    close: () => page.context().close(),
  };
}

async function findingsOf(page: Page): Promise<string[]> {
  // Finish animations, because colors in transition belong to neither scheme.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
  const before = page.viewportSize();
  const found = new Map<string, string>();
  for (const width of [NARROWEST, WIDEST]) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      // In legacy mode axe needs no extra page to merge results, which only pages with frames require.
      const axe = new AxeBuilder({ page }).setLegacyMode(true);
      // Only colors depend on the scheme, so the second run checks only colors.
      if (colorScheme === 'light') axe.withTags(RULES);
      else axe.withRules(COLOUR_RULES);
      const { violations } = await axe.analyze();
      for (const { id, impact, help, nodes } of violations) {
        const finding = `${id} (${impact}): ${help}: ${nodes.map(({ html }) => html).join(' | ')}`;
        if (!found.has(finding)) found.set(finding, `${width} ${colorScheme}: ${finding}`);
      }
    }
  }
  if (before !== null) await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: null });
  return [...found.values()];
}

async function shoot(page: Page, name: string): Promise<void> {
  const before = page.viewportSize();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: HEIGHT });
    await page.evaluate('document.fonts.ready.then(() => true)');
    if (TAKES_SHOTS) await takePictures(page, `${name}-${width}`);
    expect(await page.evaluate<number>(STICKS_OUT), `${name} at ${width} px sticks out sideways`).toBeLessThanOrEqual(
      0,
    );
    if (width === NARROWEST) expect(await page.evaluate<string[]>(SMALL_TARGETS), `${name}: small targets`).toEqual([]);
  }
  if (before !== null) await page.setViewportSize(before);
}

async function takePictures(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    const path = join(SHOTS, `${name}-${colorScheme}.jpg`);
    await page.screenshot({ path, fullPage: true, type: 'jpeg', quality: QUALITY });
  }
  await page.emulateMedia({ colorScheme: null });
}
