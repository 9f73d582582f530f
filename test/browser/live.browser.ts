import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { testBrowser, type Visitor } from './browser.ts';
import { ask, collect, comment, flush, keys, list, liveMarket, log, openStore, url, wire } from './live-market.ts';

const browser = testBrowser();
liveMarket();

const stateOf = (page: Page) => page.textContent('#live-state');
const idsOn = (page: Page) =>
  page.$$eval('#event-rows li', (rows) => rows.map(({ id }) => Number(id.slice('event-'.length))));
const rowOf = (page: Page, listing: number) => page.locator(`#listing-${listing}`);
const textsOn = (page: Page, list: string) =>
  page.$$eval(`${list} li`, (rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('time')]
        .reduce((text, time) => text.replace(time.textContent, ''), row.textContent)
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ),
  );
const until = (holds: () => Promise<unknown>, is: unknown, timeout = 15_000) =>
  expect.poll(holds, { timeout, interval: 50 }).toEqual(is);

async function open(visitor: Visitor, path = '/window'): Promise<Page> {
  const { page } = visitor;
  await page.goto(`${url}${path}`);
  if (path === '/window') await until(() => stateOf(page), 'Live');
  return page;
}

/** Returns the page's layout shift since it was opened. */
const SHIFTED = `(() => {
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: 'layout-shift', buffered: true });
  return observer.takeRecords().reduce((sum, { value }) => sum + value, 0);
})()`;

const POLL_MS = 10_000;

/** Advances a page's clock by one poll interval, so that its timers fire. The clock must be installed. */
const skipWait = (page: Page) => page.clock.fastForward(POLL_MS);

/** Checks that the page shows every event of the log once, newest first. `look` runs before each check. */
async function mustBeWhole(page: Page, look = async (_: Page): Promise<void> => {}): Promise<void> {
  const { events, total } = await log();
  const newest = async (): Promise<number | undefined> => {
    await look(page);
    return (await idsOn(page))[0];
  };
  await until(newest, events[0]?.id);
  const shown = await idsOn(page);
  expect(shown).toEqual(events.slice(0, shown.length).map(({ id }) => id));
  await until(() => page.textContent('#happened-total'), total.toLocaleString('en-US'));
}

it('what happens while the page is open appears in order and once, as the page has it when it is loaded again', async () => {
  const visitor = await browser.visitor();
  const page = await open(visitor);
  expect(await page.evaluate<number>(SHIFTED)).toBeLessThan(0.01);
  const [shelves, merchants] = [
    await page.textContent('#on-shelves-total'),
    await page.textContent('#newcomers-total'),
  ];
  const id = await list({ title: 'Tide tables of small harbours', priceUnits: 0n, aisle: 'data' });
  await flush();
  await collect(id);
  await comment(id);
  await openStore('late-riser');
  await flush();
  await mustBeWhole(page);
  expect((await textsOn(page, '#event-rows')).slice(0, 4)).toEqual([
    'late-riser opened a store',
    `tidewater commented on listing ${id}`,
    `tidewater bought listing ${id} free of charge`,
    `ink-and-paper put listing ${id} on the shelves free of charge`,
  ]);
  await until(() => page.textContent('#on-shelves-total'), String(Number(shelves) + 1));
  await until(() => page.textContent('.aisles .data .count'), '2');
  expect(await page.textContent('#newcomers-total')).toBe(String(Number(merchants) + 1));
  await until(() => rowOf(page, id).locator('.title').textContent(), 'Tide tables of small harbours');
  await until(() => rowOf(page, id).locator('.sold').textContent(), '1 sale');
  const lists = ['#event-rows', '#listing-rows', '#merchant-rows'];
  const live = await Promise.all(lists.map((one) => textsOn(page, one)));
  await page.reload();
  expect(await Promise.all(lists.map((one) => textsOn(page, one)))).toEqual(live);
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

it('what is withdrawn, removed or restored is marked, and a removed one loses its name', async () => {
  const [gone, taken] = [await list({ title: 'To be withdrawn' }), await list({ title: 'To be removed' })];
  await flush();
  const visitor = await browser.visitor();
  const page = await open(visitor);
  // This must also work where the page cannot fetch more about the event.
  await page.route('**/api/listing/*', (route) => route.abort());
  await ask(`/api/listing/${gone}/withdraw`, { reason: 'enough' }, keys.get('ink-and-paper'));
  const removal = { listing_id: taken, reason_code: 'spam', reason: 'Listed twice' };
  await ask('/api/mod/remove', removal, keys.get('hall-keeper'));
  await flush();
  await until(() => rowOf(page, gone).locator('.ended').textContent(), 'Withdrawn');
  await until(() => rowOf(page, taken).locator('.ended').textContent(), 'Removed');
  expect(await page.textContent('#listing-rows')).not.toContain('To be removed');
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('window-marked');
  await page.unroute('**/api/listing/*');
  const { appeal } = await ask(
    '/api/appeal',
    { listing_id: taken, statement: 'It is another one' },
    keys.get('ink-and-paper'),
  );
  const decision = { appeal_id: appeal.id, outcome: 'restored', reason: 'So it is' };
  await ask('/api/mod/appeal', decision, keys.get('hall-keeper'));
  await flush();
  await until(() => rowOf(page, taken).locator('.title').textContent(), 'To be removed');
  expect(await rowOf(page, taken).locator('.ended').isVisible()).toBe(false);
  await visitor.close();
});

it.each([
  ['refused for too many', 429],
  ['refused because the server is full', 503],
])('a stream that is %s: the log is asked instead, and the page says so', async (_, status) => {
  const visitor = await browser.visitor();
  await visitor.page.clock.install();
  await visitor.page.route('**/api/events/stream*', (route) => route.fulfill({ status, body: '{}' }));
  await visitor.page.goto(`${url}/window`);
  // This must happen at once, before a cut connection would time out.
  await until(() => stateOf(visitor.page), 'Checked every 10 seconds', 6_000);
  await comment(1);
  await flush();
  await mustBeWhole(visitor.page, skipWait);
  expect(await visitor.findings()).toEqual([]);
  if (status === 503) await visitor.shoot('window-checked');
  await visitor.close();
});

it('without EventSource the log is asked every ten seconds', async () => {
  const visitor = await browser.visitor();
  await visitor.page.clock.install();
  await visitor.page.addInitScript('delete window.EventSource');
  await visitor.page.goto(`${url}/window`);
  await until(() => stateOf(visitor.page), 'Checked every 10 seconds');
  for (let round = 0; round < 2; round += 1) {
    await comment(1);
    await flush();
    await mustBeWhole(visitor.page, skipWait);
  }
  await visitor.close();
});

it('cut for a moment it goes on by itself; cut for long it says since when, and nothing is missing or twice afterwards', async () => {
  const visitor = await browser.visitor();
  await visitor.page.clock.install();
  const page = await open(visitor);
  for (let round = 0; round < 3; round += 1) {
    wire.cut();
    await comment(1);
    await flush();
    await mustBeWhole(page);
  }
  expect(await stateOf(page)).toBe('Live');
  wire.cut('refuse');
  const stateLater = async (): Promise<string | null> => {
    await skipWait(page);
    return await stateOf(page);
  };
  await expect.poll(stateLater, { timeout: 20_000 }).toMatch(/^Not connected since \d\d:\d\d; what you see is older$/);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('window-away');
  wire.mend();
  const before = await idsOn(page);
  for (let at = 0; at < 5; at += 1) await comment(1);
  await flush();
  await mustBeWhole(page, skipWait);
  expect(await idsOn(page)).toEqual(expect.arrayContaining(before.slice(0, 20)));
  await page.evaluate('dispatchEvent(new Event("online"))');
  await until(() => stateOf(page), 'Live');
  await comment(1);
  await flush();
  await mustBeWhole(page);
  await visitor.close();
});

it('paused or scrolled down nothing moves; what is new is counted, and comes when it is asked for', async () => {
  const visitor = await browser.visitor();
  const page = await open(visitor);
  const before = await idsOn(page);
  await visitor.tabTo('#live-pause');
  await page.keyboard.press('Enter');
  expect([await stateOf(page), await page.textContent('#live-pause')]).toEqual(['Paused', 'Go on']);
  for (let at = 0; at < 5; at += 1) await comment(1);
  await flush();
  await until(() => page.textContent('#live-news'), 'Show 5 new');
  expect(await idsOn(page)).toEqual(before);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('window-paused');
  await page.focus('#live-news');
  await page.keyboard.press('Enter');
  await mustBeWhole(page);
  expect(await page.evaluate('document.activeElement.id')).toBe('happened');
  expect(await page.isVisible('#live-news')).toBe(false);
  await page.click('#live-pause');
  expect(await stateOf(page)).toBe('Live');
  await page.setViewportSize({ width: 390, height: 600 });
  await page.evaluate('scrollTo(0, 900)');
  const place = await page.evaluate<number>('scrollY');
  await comment(1);
  await flush();
  await until(() => page.textContent('#live-news'), 'Show 1 new');
  expect(await page.evaluate<number>('scrollY')).toBe(place);
  await page.click('#live-news');
  await mustBeWhole(page);
  await until(() => page.evaluate<number>('scrollY'), 0);
  // The page also waits while a row has the keyboard focus, and continues afterwards without a click.
  await visitor.tabTo('#event-rows li:nth-child(2) a >> nth=0');
  await comment(1);
  await flush();
  await until(() => page.isVisible('#live-news'), true);
  await page.evaluate('document.activeElement.blur()');
  await page.evaluate('scrollTo(0, 0)');
  await mustBeWhole(page);
  await visitor.close();
});

it('after more than fits on the page it is rendered again, with a hundred rows and no gap', async () => {
  const [gone, kept] = [await list({ title: 'Gone meanwhile' }), await list({ title: 'Still there' })];
  await flush();
  const visitor = await browser.visitor();
  const page = await open(visitor);
  await page.click('#live-pause');
  await ask(`/api/listing/${gone}/withdraw`, {}, keys.get('ink-and-paper'));
  for (let at = 0; at < 60; at += 1) {
    await comment(1);
    await comment(2, 'ink-and-paper');
  }
  await flush();
  await until(() => page.textContent('#live-news'), 'Show 121 new');
  await page.click('#live-pause');
  await mustBeWhole(page);
  expect(await idsOn(page)).toHaveLength(100);
  // The page still knows rows that it has dropped.
  expect([await rowOf(page, gone).count(), await rowOf(page, kept).count()]).toEqual([0, 1]);
  await comment(1);
  await flush();
  await mustBeWhole(page);
  expect(await idsOn(page)).toHaveLength(100);
  await visitor.close();
});

it('a hidden tab listens to nothing, and catches up by the last number when it is seen again', async () => {
  const visitor = await browser.visitor();
  const page = await open(visitor);
  const icon = await page.getAttribute('link[rel=icon]', 'href');
  const asked: string[] = [];
  page.on('request', (request) => {
    const path = request.url().slice(url.length);
    // The browser may fetch the icon at any time.
    if (path !== icon) asked.push(path);
  });
  const setHidden = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event('visibilitychange'))`);
  const before = await idsOn(page);
  await setHidden(true);
  await comment(1);
  await comment(2);
  await flush();
  // Another page shows the event, but this one does not.
  const other = await browser.visitor();
  await mustBeWhole(await open(other));
  expect(await idsOn(page)).toEqual(before);
  expect(asked).toEqual([]);
  await setHidden(false);
  await mustBeWhole(page);
  await until(() => stateOf(page), 'Live');
  const newest = (await log()).events[0]?.id;
  expect(asked).toEqual([
    '/api/events?scope=window&limit=100',
    `/api/events/stream?scope=window&last_event_id=${newest}`,
  ]);
  await other.close();
  await visitor.close();
});

it('hostile titles that come in while the page is open run nothing, and read as they do when it is loaded again', async () => {
  const visitor = await browser.visitor({ bypassCSP: true });
  const { page } = visitor;
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) elsewhere.push(request.url());
  });
  await open(visitor);
  const titles = HOSTILE_TEXTS.map((text) => [...text].slice(0, 120).join(''));
  for (let from = 0; from < titles.length; from += 12) {
    const ids: number[] = [];
    for (const title of titles.slice(from, from + 12)) ids.push(await list({ title }));
    await flush();
    const newest = ids.at(-1) ?? 0;
    await until(
      () =>
        rowOf(page, newest)
          .locator('.title')
          .textContent()
          .then((text) => text !== `Listing ${newest}`),
      true,
    );
    const named = () =>
      page.$$eval(
        '#listing-rows .title',
        (all) => all.filter(({ textContent }) => /^Listing \d+$/.test(textContent)).length,
      );
    await until(named, 0, 30_000);
    const live = await textsOn(page, '#listing-rows');
    await page.reload();
    expect(await textsOn(page, '#listing-rows')).toEqual(live);
    await until(() => stateOf(page), 'Live');
  }
  expect([dialogs, elsewhere]).toEqual([0, []]);
  expect(await page.locator('main :is(script, img, iframe, svg, style)').count()).toBe(0);
  await visitor.shoot('window-hostile');
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

/** Removes goods, files the appeal, and upholds the removal. */
async function makeAppealed(title: string): Promise<void> {
  const [maintainer, merchant] = [keys.get('hall-keeper'), keys.get('ink-and-paper')];
  const id = await list({ title });
  const reason = 'They are made up.\nTwo merchants showed the originals.';
  await ask('/api/mod/remove', { listing_id: id, reason_code: 'fraud', reason }, maintainer);
  const statement = 'They are not made up. I have them from https://example.org/letters, where everybody can look.';
  const { appeal } = await ask('/api/appeal', { listing_id: id, statement }, merchant);
  const decision = { outcome: 'removal_upheld', reason: 'That address shows other ones.' };
  await ask('/api/mod/appeal', { appeal_id: appeal.id, ...decision }, maintainer);
}

it('without scripts everything can be read, and every way on works', async () => {
  for (let at = 0; at < 65; at += 1) await comment(3);
  await makeAppealed('Letters of a bank');
  await flush();
  const visitor = await browser.visitor({ javaScriptEnabled: false });
  const page = await open(visitor, '/events');
  await page.selectOption('#kind', 'comment');
  await page.click('.kinds button');
  expect(await page.textContent('h1')).toBe('Comments');
  await page.click('a[rel=next]');
  expect(await page.locator('.records li').count()).toBeGreaterThan(10);
  await visitor.page.goto(`${url}/window`);
  expect(await stateOf(page)).toContain('Load the page again');
  expect(await page.isVisible('#live-pause')).toBe(false);
  expect((await idsOn(page)).length).toBe(30);
  await page.click('#happened ~ a');
  expect(page.url()).toBe(`${url}/events?scope=window`);
  await page.goto(`${url}/moderation`);
  await page.click('nav.views a >> text=Appeals');
  expect(await page.textContent('main')).toContain('They are not made up.');
  await visitor.close();
});

it('the log and the moderation can be read at every width, light and dark, and axe finds nothing', async () => {
  const visitor = await browser.visitor();
  const spam = await comment(1, 'ink-and-paper');
  const removal = { comment_id: spam, reason_code: 'spam', reason: 'It was' };
  await ask('/api/mod/comment', removal, keys.get('hall-keeper'));
  await makeAppealed('Reports of a harbour');
  await ask('/api/mod/pin', { listing_id: 1, pinned: true }, keys.get('hall-keeper'));
  await flush();
  const pages: [string, string][] = [
    ['/events', 'events'],
    ['/events?kind=moderation', 'events-moderation'],
    ['/events?kind=world_sale', 'events-none'],
    ['/events?kind=gossip', 'events-refused'],
    ['/moderation', 'moderation'],
    ['/moderation?show=comments', 'moderation-comments'],
    ['/moderation?show=appeals', 'moderation-appeals'],
  ];
  for (const [path, name] of pages) {
    await open(visitor, path);
    expect([path, await visitor.findings()]).toEqual([path, []]);
    await visitor.shoot(name);
  }
  expect(visitor.complaints.filter((one) => !one.includes('400'))).toEqual([]);
  await visitor.close();
});
