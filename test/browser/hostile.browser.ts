import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { rotated } from '../suite/rotation.ts';
import { createTestDatabase } from '../support/database.ts';
import { type HostileStock, seedHostileStock } from '../support/hostile-stock.ts';
import { EVERY_HOSTILE_TEXT, HOSTILE_FAMILIES } from '../support/hostile-texts.ts';
import { marketContext, settableClock } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import { seedEvent } from '../support/seed.ts';
import { testBrowser, type Visitor } from './browser.ts';

// Hostile texts in a real browser: no script of theirs runs, no dialog opens, and no other host is contacted. Runs with and without the
// pages' policy, since pages must be safe even without it. test/hostile-pages.heavy.ts checks the markup of each text.

const NOON = Date.UTC(2026, 0, 8, 12, 5, 0);
/** Number of hostile texts per field of one listing. */
const TOGETHER = 15;
const LONGEST_QUERY = 100;
/** Pages other than goods, stores, and the lists of both. */
const SINGLE_PAGES = [
  ...['/', '/window', '/events', '/treasury', '/nowhere/%3Cscript%3Ealert(1)%3C%2Fscript%3E'],
  ...['/moderation', '/moderation?show=appeals', '/moderation?show=comments'],
];
/** Finds markup that our pages never contain: event handlers, frames, loaders, inline styles, foreign scripts, links that run code. */
const STRANGERS = `[...document.querySelectorAll('*')].filter((element) =>
  element.getAttributeNames().some((name) => name.startsWith('on') || name === 'style' || name === 'srcdoc' || name === 'ping') ||
  element.matches('iframe, frame, object, embed, base, style, math, video, audio, image, foreignObject, animate, set, use, template, noscript, plaintext, xmp, dialog[open], [contenteditable], [popover]') ||
  (element.matches('script') && !(element.src.startsWith(location.origin + '/assets/'))) ||
  (element.matches('img, link[rel~=stylesheet], link[rel~=icon], link[rel~=preload]') && new URL(element.src ?? element.href).origin !== location.origin) ||
  (element.matches('form') && new URL(element.getAttribute('action'), location.href).origin !== location.origin) ||
  (element.matches('a[href]') && !['http:', 'https:', 'mailto:'].includes(element.protocol)) ||
  (element.matches('meta[http-equiv]'))
).map((element) => element.outerHTML.slice(0, 200))`;

const browser = testBrowser();
let running: RunningMarket;
let drop: () => Promise<void>;
let url = '';
let many: HostileStock;

beforeAll(async () => {
  const test = await createTestDatabase({ inventedEvents: true });
  const { database } = test;
  drop = test.drop;
  const { config, pepper, random } = marketContext({ database });
  await seedHostileStock(database, EVERY_HOSTILE_TEXT);
  const chunks: string[] = [];
  for (let at = 0; at < EVERY_HOSTILE_TEXT.length; at += TOGETHER)
    chunks.push(EVERY_HOSTILE_TEXT.slice(at, at + TOGETHER).join('\n'));
  many = await seedHostileStock(database, chunks, 'chorus');
  for (const text of EVERY_HOSTILE_TEXT.slice(0, 40)) await seedEvent(database, 'register', { reason: text }, text);
  running = createMarket({ config, database, clock: settableClock(NOON), log: recordingLog().log, pepper, random });
  await running.eventsSettled();
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await drop();
});

interface Suspicion {
  path: string;
  seen: string;
}

/** Records events which prove that a text was treated as more than text. */
function watchVisitor(visitor: Visitor): Suspicion[] {
  const { page } = visitor;
  const suspicions: Suspicion[] = [];
  const note = (seen: string): void => void suspicions.push({ path: page.url().slice(url.length), seen });
  page.on('dialog', (dialog) => {
    note(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.context().on('page', (opened) => note(`a window: ${opened.url()}`));
  page.context().on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) note(`a request: ${request.url().slice(0, 200)}`);
    else if (request.isNavigationRequest() && request.frame() !== page.mainFrame()) note(`a frame: ${request.url()}`);
  });
  return suspicions;
}

const queryOf = (text: string): string => [...text].slice(0, LONGEST_QUERY).join('').trim();

const STORES = 10;
const playedListings = () => rotated(import.meta.filename, [...many.live, ...many.ended]);

async function visitAll(visitor: Visitor): Promise<{ suspicions: Suspicion[]; visited: number }> {
  const { page } = visitor;
  const suspicions = watchVisitor(visitor);
  let visited = 0;
  const visit = async (path: string): Promise<void> => {
    await page.goto(`${url}${path}`, { waitUntil: 'load' });
    visited += 1;
    for (const seen of await page.evaluate<string[]>(STRANGERS)) suspicions.push({ path, seen });
    if ((await page.locator('h1').count()) !== 1) suspicions.push({ path, seen: 'not one heading' });
    if (page.url() !== new URL(path, url).href) suspicions.push({ path, seen: `another page: ${page.url()}` });
  };
  for (const path of SINGLE_PAGES) await visit(path);
  for (const [text = ''] of Object.values(HOSTILE_FAMILIES))
    await visit(`/shelves?q=${encodeURIComponent(queryOf(text))}`);
  for (const id of playedListings()) await visit(`/listing/${id}`);
  for (const handle of many.handles.slice(0, STORES)) await visit(`/store/${handle}`);
  for (const begin of ['/shelves', '/merchants']) {
    for (let path: string | null = begin; path !== null; ) {
      await visit(path);
      const next = page.locator('a[rel=next]');
      path = (await next.count()) === 0 ? null : await next.getAttribute('href');
    }
  }
  return { suspicions, visited };
}

for (const bypassCSP of [false, true]) {
  it(`nothing of it runs or asks, ${bypassCSP ? 'without' : 'with'} the policy of the pages`, async () => {
    const visitor = await browser.visitor({ bypassCSP });
    const { suspicions, visited } = await visitAll(visitor);
    expect(suspicions).toEqual([]);
    const pages = SINGLE_PAGES.length + Object.keys(HOSTILE_FAMILIES).length + playedListings().length + STORES;
    expect(visited).toBeGreaterThan(pages);
    // A blocked script or address would be listed here.
    expect(visitor.complaints.filter((one) => !/status of 40[04]/.test(one))).toEqual([]);
    await visitor.close();
  });
}

it('it would be seen if something ran, asked or stood there', async () => {
  const visitor = await browser.visitor({ bypassCSP: true });
  const { page } = visitor;
  const suspicions = watchVisitor(visitor);
  await page.goto(`${url}/about`);
  const dialog = page.waitForEvent('dialog');
  const asked = page.waitForEvent('request', (request) => request.url().startsWith('https://evil.example/'));
  await page.evaluate(`document.querySelector('main').innerHTML =
    '<img src=x onerror=alert(1)><img src=https://evil.example/p.png><a href="javascript:alert(1)">x</a>'`);
  await Promise.all([dialog, asked]);
  expect(suspicions.map(({ seen }) => seen.split(':')[0]).toSorted()).toEqual(['a dialog', 'a request']);
  expect(await page.evaluate(STRANGERS)).toHaveLength(3);
  await visitor.close();
});

it('the pages stay in shape', async () => {
  const visitor = await browser.visitor();
  for (const [path, name] of [
    [`/listing/${many.live[7]}`, 'listing-hostile'],
    [`/listing/${many.ended[22]}`, 'listing-hostile-removed'],
    [`/store/${many.handles[26]}`, 'store-hostile'],
    ['/shelves', 'shelves-hostile'],
    ['/merchants', 'merchants-hostile'],
    ['/', 'storefront-hostile'],
  ] as const) {
    await visitor.page.goto(`${url}${path}`);
    await visitor.shoot(name);
  }
  await visitor.close();
});
