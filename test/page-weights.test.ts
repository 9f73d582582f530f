import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMarket, type RunningMarket } from '../src/market/create-market.ts';
import { createTestDatabase } from './support/database.ts';
import { marketContext, settableClock } from './support/market-context.ts';
import { readMarkup, type Tag } from './support/read-markup.ts';
import { recordingLog } from './support/recording-log.ts';
import { seedEvent, seedMerchant, seedStock } from './support/seed.ts';

// Checks page weights as numbers that are equal on every machine. test/browser/weights.browser.ts measures them in a browser.

const NOON = Date.UTC(2026, 0, 6, 12, 0, 0);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const KB = 1024;
const MAX_SCRIPT = 14 * KB;
const MAX_STYLE = 14 * KB;
const MAX_LISTING = 30 * KB;
const MAX_BEFORE_PAINT = 4;
const MAX_PRELOADED = 2;
const COMMENTS = 20;
/** Longest text that the market accepts. */
const LONGEST_TEXT = 4_000;
/** Compression options of pages packed on request, which come out larger than at the default level. */
const QUICK = { level: 4 };
const PAGES = [
  ...['/', '/shelves', '/shelves/data', '/shelves?q=goods', '/listing/1', '/store/ink', '/merchants', '/listing/999'],
  ...['/window', '/events', '/moderation', '/treasury'],
  ...['/about', '/terms', '/privacy', '/support', '/changelog', '/city-bridge', '/docs', '/docs/errors', '/help'],
  ...['/join', '/rotate', '/recovery', '/nowhere'],
];
/** This page has its own limit, because its script contains a wallet's whole payment logic. */
const WALLET_PAGE = '/listing/1/buy';

let running: RunningMarket;
let drop: () => Promise<void>;

beforeAll(async () => {
  const test = await createTestDatabase({ inventedEvents: true });
  const { database } = test;
  drop = test.drop;
  const { config, pepper, random } = marketContext({ database });
  const { id } = await seedMerchant(database, { handle: 'ink' });
  const [text = '', ...bodies] = piecesOfProse();
  const goods = Array.from({ length: 40 }, (_, at) => ({
    title: `Goods number ${at + 1}`,
    description: text,
    preview: text,
  }));
  await seedStock(database, id, goods);
  const rows = JSON.stringify(bodies.map((body, at) => ({ n: at + 1, body })));
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at)
    select r.n, 1, 1, r.body, now() from jsonb_to_recordset(${rows}::jsonb) r (n bigint, body text)`);
  for (let n = 0; n < 120; n += 1) await seedEvent(database, 'listing', { listing_id: 1 + (n % 40) }, 'ink');
  running = createMarket({ config, database, clock: settableClock(NOON), log: recordingLog().log, pepper, random });
  await running.eventsSettled();
});
afterAll(async () => {
  await running.stop({ drainMs: 0 });
  await drop();
});

/** Returns realistic prose from our own documents, in pieces as long as the longest text. */
function piecesOfProse(): string[] {
  const folder = fileURLToPath(new URL('../docs/decisions/', import.meta.url));
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort();
  const prose = names.map((name) => readFileSync(`${folder}${name}`, 'utf8')).join('\n');
  return Array.from({ length: COMMENTS + 1 }, (_, at) => prose.slice(at * LONGEST_TEXT, (at + 1) * LONGEST_TEXT));
}

const get = (path: string) => running.http.inject({ url: path, headers: { accept: BROWSER } });

async function tagsOf(path: string): Promise<Tag[]> {
  return readMarkup((await get(path)).body).tags.filter(({ isEnd }) => !isEnd);
}

const isStyle = ({ name, attributes }: Tag): boolean => name === 'link' && attributes.get('rel') === 'stylesheet';
const isScript = ({ name }: Tag): boolean => name === 'script';

/** Returns the total compressed size of the files that these tags refer to. */
async function weightOf(tags: readonly Tag[]): Promise<number> {
  const paths = new Set(tags.map(({ attributes }) => attributes.get('src') ?? attributes.get('href') ?? ''));
  let weight = 0;
  for (const path of paths) {
    const { statusCode, rawPayload } = await get(path);
    expect([path, statusCode]).toEqual([path, 200]);
    weight += gzipSync(rawPayload).byteLength;
  }
  return weight;
}

it('no page has more than 14 KB of scripts and 14 KB of styles, packed', async () => {
  for (const path of PAGES) {
    const tags = await tagsOf(path);
    expect([path, await weightOf(tags.filter(isScript))]).toEqual([
      path,
      expect.toSatisfy((n: number) => n <= MAX_SCRIPT),
    ]);
    expect([path, await weightOf(tags.filter(isStyle))]).toEqual([
      path,
      expect.toSatisfy((n: number) => n <= MAX_STYLE),
    ]);
  }
});

it('no page waits for more than four answers before it can be painted', async () => {
  for (const path of [...PAGES, WALLET_PAGE]) {
    const tags = await tagsOf(path);
    const waited = tags.filter((tag) => isStyle(tag) || (isScript(tag) && !tag.attributes.has('defer')));
    expect([path, 1 + waited.length]).toEqual([path, expect.toSatisfy((n: number) => n <= MAX_BEFORE_PAINT)]);
    const preloaded = tags.filter(({ attributes }) => attributes.get('rel') === 'preload');
    expect([path, preloaded.length]).toEqual([path, expect.toSatisfy((n: number) => n <= MAX_PRELOADED)]);
  }
});

it('no page loads anything that is not ours', async () => {
  for (const path of [...PAGES, WALLET_PAGE]) {
    const loaded = (await tagsOf(path)).flatMap(({ name, attributes }) => {
      const href =
        name === 'link' && !/^(?:alternate|canonical|next)$/.test(attributes.get('rel') ?? '')
          ? attributes.get('href')
          : undefined;
      return [href, attributes.get('src'), attributes.get('srcset'), attributes.get('poster')].filter(
        (one) => one !== undefined,
      );
    });
    expect(loaded.length).toBeGreaterThan(3);
    expect([path, loaded.filter((address) => !/^\/(?!\/)/.test(address))]).toEqual([path, []]);
  }
  const faces = (await get((await tagsOf('/')).find(isStyle)?.attributes.get('href') ?? '')).body;
  const inside = [...faces.matchAll(/url\("?([^")]+)/g)].map(([, address = '']) => address);
  expect(inside.length).toBe(3);
  expect(inside.filter((address) => !address.startsWith('/assets/'))).toEqual([]);
  expect(faces).not.toMatch(/@import|image-set/);
});

it('a listing whose texts and comments are as long as they get has at most 30 KB, packed', async () => {
  const { body } = await get('/listing/1');
  expect(body).toContain(`${COMMENTS} comments`);
  expect(body.length).toBeGreaterThan(50 * KB);
  expect(gzipSync(body, QUICK).byteLength).toBeLessThanOrEqual(MAX_LISTING);
});
