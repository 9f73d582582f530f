import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMarket, type RunningMarket } from '../src/market/create-market.ts';
import { cleanText } from '../src/market/pages/storefront/render-text.ts';
import { createTestDatabase } from './support/database.ts';
import { type HostileStock, seedHostileStock, shortOf } from './support/hostile-stock.ts';
import { EVERY_HOSTILE_TEXT, HOSTILE_FAMILIES } from './support/hostile-texts.ts';
import { marketContext, settableClock } from './support/market-context.ts';
import { readMarkup, rowsOf, skeletonOf, strangeTags, type Tag } from './support/read-markup.ts';
import { recordingLog } from './support/recording-log.ts';
import { seedEvent } from './support/seed.ts';

// Every hostile text in every field must stay text on every page, and the page must have the same structure as with a harmless text.

const NOON = Date.UTC(2026, 0, 6, 12, 0, 0);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HARMLESS = 'Plain words';
const TEXTS = [HARMLESS, ...EVERY_HOSTILE_TEXT];
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}]/u;
/** Pages other than single goods and stores. Shelves and merchants are read to their last page. */
const SINGLE_PAGES = [
  ...['/', '/window', '/events', '/events?kind=register', '/events?kind=moderation', '/treasury'],
  ...['/moderation', '/moderation?show=removals', '/moderation?show=appeals', '/moderation?show=comments'],
];
const ROW_OF_GOODS = 'li.row-of-goods';
const LONGEST_QUERY = 100;

let running: RunningMarket;
let drop: () => Promise<void>;
let stock: HostileStock;

beforeAll(async () => {
  const test = await createTestDatabase({ inventedEvents: true });
  drop = test.drop;
  const { config, pepper, random } = marketContext({ database: test.database });
  stock = await seedHostileStock(test.database, TEXTS);
  for (const kind of ['register', 'listing', 'moderation', 'appeal'] as const) {
    const [text = ''] = HOSTILE_FAMILIES.eventHandlers;
    await seedEvent(test.database, kind, { listing_id: stock.ended[1], reason: text, title: text, [text]: text }, text);
  }
  running = createMarket({
    config,
    database: test.database,
    clock: settableClock(NOON),
    log: recordingLog().log,
    pepper,
    random,
  });
  await running.eventsSettled();
});
afterAll(async () => {
  await running.stop({ drainMs: 0 });
  await drop();
});

async function open(path: string) {
  const { statusCode: status, body } = await running.http.inject({ url: path, headers: { accept: BROWSER } });
  const { tags, text } = readMarkup(body);
  return { status, body, tags, text };
}

/** Checks that a page has only our own elements, attributes and URLs, one heading, and no invisible characters. */
async function mustBeOurs(path: string, status = 200): Promise<Awaited<ReturnType<typeof open>>> {
  const page = await open(path);
  expect([path, page.status]).toEqual([path, status]);
  expect([path, strangeTags(page.tags)]).toEqual([path, []]);
  expect([path, page.tags.filter(({ name, isEnd }) => name === 'h1' && !isEnd).length]).toEqual([path, 1]);
  expect([path, UNSEEN.exec(page.text)?.index]).toEqual([path, undefined]);
  const ids = page.tags.flatMap(({ attributes }) => attributes.get('id') ?? []);
  expect([path, ids.length - new Set(ids).size]).toEqual([path, 0]);
  return page;
}

const nextOf = ({ tags }: { tags: readonly Tag[] }): string | undefined =>
  tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');

it('there are several hundred of them, of many families', () => {
  const numbers = Object.fromEntries(Object.entries(HOSTILE_FAMILIES).map(([name, texts]) => [name, texts.length]));
  expect(numbers).toEqual({
    ...{ scriptTags: 34, eventHandlers: 41, svgAndMath: 20, breakers: 40, attributeBreakers: 20, loaders: 28 },
    ...{ styles: 12, clobbers: 14, scriptLinks: 54, markdown: 10, foreignAddresses: 26, entities: 12, templates: 14 },
    ...{ names: 16, otherTongues: 10, bidi: 14, controls: 16, zeroWidths: 13, tagCharacters: 5, lookalikes: 12 },
    ...{ piles: 6, sizes: 12, emoji: 8, rightToLeft: 6 },
  });
  expect(EVERY_HOSTILE_TEXT).toHaveLength(Object.values(numbers).reduce((sum, number) => sum + number, 0));
  expect(EVERY_HOSTILE_TEXT.length).toBeGreaterThanOrEqual(300);
});

it('goods for sale are built alike, whatever is written about them', async () => {
  const wanted = skeletonOf((await mustBeOurs(`/listing/${stock.live[0]}`)).tags);
  for (const [at, id] of stock.live.entries()) {
    const { tags, text } = await mustBeOurs(`/listing/${id}`);
    expect([TEXTS[at], skeletonOf(tags)]).toEqual([TEXTS[at], wanted]);
    expect(text).toContain(cleanText(`${TEXTS[at]}\nand ${TEXTS[at]}`));
  }
});

it('so are goods that were withdrawn, removed and appealed for', async () => {
  const wanted = skeletonOf((await mustBeOurs(`/listing/${stock.ended[0]}`)).tags);
  for (const [at, id] of stock.ended.entries()) {
    const { tags, text } = await mustBeOurs(`/listing/${id}`);
    expect([TEXTS[at], skeletonOf(tags)]).toEqual([TEXTS[at], wanted]);
    // The page shows the reason for the removal, the statement of the appeal, and the reason for its outcome.
    const parts = text.split(cleanText(TEXTS[at] ?? ''));
    expect([TEXTS[at], parts.length]).toEqual([TEXTS[at], expect.toSatisfy((count: number) => count > 3)]);
  }
});

it('so are stores, and rows of goods and of merchants', async () => {
  const wanted = skeletonOf((await mustBeOurs(`/store/${stock.handles[0]}`)).tags);
  for (const [at, handle] of stock.handles.entries()) {
    const { tags } = await mustBeOurs(`/store/${handle}`);
    expect([TEXTS[at], skeletonOf(tags)]).toEqual([TEXTS[at], wanted]);
  }
  for (const [begin, rows] of [
    ['/shelves', TEXTS.length],
    ['/merchants', TEXTS.length + 1],
  ] as const) {
    const kinds: string[] = [];
    for (let path: string | undefined = begin; path !== undefined; ) {
      const { tags } = await mustBeOurs(path);
      kinds.push(...rowsOf(tags, ROW_OF_GOODS));
      path = nextOf({ tags });
    }
    expect([begin, kinds.length]).toEqual([begin, rows]);
    // A merchant without a store line shows a default text.
    expect([begin, new Set(kinds).size]).toEqual([begin, begin === '/merchants' ? 2 : 1]);
  }
});

it('what is searched for is said back as a text', async () => {
  for (const text of EVERY_HOSTILE_TEXT) {
    const q = encodeURIComponent([...text].slice(0, LONGEST_QUERY).join(''));
    const { status, tags } = await open(`/shelves?q=${q}`);
    expect([text, [200, 400].includes(status), strangeTags(tags)]).toEqual([text, true, []]);
  }
  for (const text of EVERY_HOSTILE_TEXT.slice(0, 100)) {
    for (const path of [`/shelves?tag=${encodeURIComponent(shortOf(text))}`, `/store/${encodeURIComponent(text)}`]) {
      expect([path, strangeTags((await open(path)).tags)]).toEqual([path, []]);
    }
  }
});

it('so is every other page, and every list to its end', async () => {
  expect((await open('/feed.atom')).body).not.toMatch(/<(?:script|img|svg|style)/i);
  let visited = 0;
  for (const begin of SINGLE_PAGES) {
    for (let path: string | undefined = begin; path !== undefined; visited += 1) path = nextOf(await mustBeOurs(path));
  }
  expect(visited).toBeGreaterThan(SINGLE_PAGES.length + 20);
});
