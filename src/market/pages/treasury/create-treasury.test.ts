import { gunzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, severableDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { marketContext, type SettableClock, settableClock } from '../../../../test/support/market-context.ts';
import { askMcp } from '../../../../test/support/mcp-ask.ts';
import { readMarkup, type Tag } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { seedFee, seedListing, seedMerchant, seedPaidPurchase } from '../../../../test/support/seed.ts';
import { seedFees } from '../../../../test/support/seed-books.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';

const NOON = Date.UTC(2026, 0, 8, 12, 5, 0);
const DAY_MS = 86_400_000;
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const EXPLORER = 'https://explorer.example';

let test: TestDatabase & { drop(): Promise<void> };
let clock: SettableClock;
let running: RunningMarket;
let url = '';
const sellers: bigint[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  clock = settableClock(NOON);
  const { config, pepper, random } = marketContext({ database: test.database, clock });
  const { database } = test;
  const log = recordingLog().log;
  running = createMarket({ config: { ...config, explorerUrl: EXPLORER }, database, clock, log, pepper, random });
  for (let at = 0; at < 13; at += 1) sellers.push((await seedMerchant(database, { handle: `stand-${at}` })).id);
  await seedFees(database, 4_100, { merchants: sellers, from: new Date(NOON - 9 * DAY_MS), to: new Date(NOON) });
  const { id } = await seedListing(database, sellers[2] ?? 1n, {
    aisle: 'data',
    feeId: 4_100n,
    priceUnits: 1_250_000n,
  });
  await seedPaidPurchase(database, id);
  await seedFee(database, sellers[0] ?? 1n);
  await running.eventsSettled();
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function get(path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const answer = await running.http.inject({ method, url: path, headers });
  return { status: answer.statusCode, headers: answer.headers, body: answer.body, bytes: answer.rawPayload };
}

const page = async (path = '/treasury') => {
  const answer = await get(path, { accept: BROWSER });
  return { ...answer, ...readMarkup(answer.body) };
};
const textOf = (markup: string): string => readMarkup(markup).text.replaceAll(/\s+/g, ' ');
const hrefs = (tags: readonly Tag[]): string[] => tags.flatMap(({ attributes }) => attributes.get('href') ?? []);

describe('at one address', () => {
  it('browsers get a page and programs the JSON that they always got', async () => {
    const json = await get('/treasury', { accept: 'application/json' });
    const vary = 'accept, accept-encoding';
    expect(json.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8', vary });
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json, text/html;q=0.9' }])
      expect((await get('/treasury', headers)).body).toBe(json.body);
    expect(JSON.parse(json.body)).toMatchObject({ fees_count: 4_101, fees_page_size: 50 });
    const shown = await page();
    expect(shown.status).toBe(200);
    expect(shown.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      vary: 'accept, accept-encoding',
    });
    expect(shown.headers['etag']).not.toBe(json.headers['etag']);
  });

  it('tools and other parts of the server go on getting JSON', async () => {
    const { message } = await askMcp({ url }, 'tools/call', { name: 'treasury', arguments: { limit: 2 } });
    expect(message.result).toMatchObject({ structuredContent: { fees_count: 4_101, fees_returned: 2 } });
  });

  it('the page answers HEAD, 304 and gzip', async () => {
    const plain = await get('/treasury', { accept: BROWSER });
    const head = await get('/treasury', { accept: BROWSER }, 'HEAD');
    expect([head.status, head.body, head.headers['etag']]).toEqual([200, '', plain.headers['etag']]);
    const known = { accept: BROWSER, 'if-none-match': String(plain.headers['etag']) };
    expect(await get('/treasury', known)).toMatchObject({ status: 304, body: '' });
    const packed = await get('/treasury', { accept: BROWSER, 'accept-encoding': 'gzip' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.bytes).toString()).toBe(plain.body);
    expect(packed.headers['etag']).not.toBe(plain.headers['etag']);
  });
});

it('says what the books say, and that the balance is not known', async () => {
  const { body, tags } = await page();
  const text = textOf(body);
  for (const words of [
    '4,101.00 USDC from 4,101 fees',
    'Not known at the moment',
    'The chain does not answer just now',
    '13 merchants have paid a fee. The 10 who paid most, and the rest together.',
    '3 other merchants',
    '1 sale for 1.25 USDC',
    'Counted 2026-01-08 at 12:05:00 UTC',
    'The maintainer lists without a fee; there is no such listing yet.',
    'Numbers 4101 to 4077 of 4,101 fees',
  ])
    expect(text).toContain(words);
  const links = hrefs(tags);
  for (const link of ['/store/stand-0', '/listing/1', '/shelves/data', '/treasury?before_id=4077'])
    expect(links).toContain(link);
  expect(links.filter((link) => link.startsWith(`${EXPLORER}/tx/0x`))).toHaveLength(25);
  expect(links.filter((link) => link.startsWith(`${EXPLORER}/address/0x`))).toHaveLength(1);
});

it('draws what it counts: all bars of a chart together are all fees, and its table says the same', async () => {
  const { body } = await page();
  const [time = '', merchants = ''] = [...body.matchAll(/<svg class="chart"[\s\S]*?<\/svg>/g)].map(([chart]) => chart);
  const drawn = [...time.matchAll(/<title>[^<]*: ([\d,]+) fees?, /g)].map(([, fees = '']) =>
    Number(fees.replace(',', '')),
  );
  expect(drawn.reduce((sum, fees) => sum + fees, 0)).toBe(4_101);
  const heights = [...time.matchAll(/height="([\d.]+)"><title>/g)].map(([, height]) => Number(height));
  expect(Math.max(...heights)).toBe(136);
  // Bars start at zero: heights are proportional to fees.
  expect(heights.map((height) => Math.round((height / 136) * Math.max(...drawn)))).toEqual(drawn);
  const tables = [...body.matchAll(/<tbody>([\s\S]*?)<\/tbody>/g)].map(([, rows = '']) => rows);
  const paid = (rows: string): number[] =>
    [...rows.matchAll(/<td>([\d,.]+) USDC<\/td>/g)].map(([, usdc = '']) => Number(usdc.replaceAll(',', '')));
  expect(paid(tables[0] ?? '').reduce((sum, one) => sum + one, 0)).toBe(4_101);
  expect(paid(tables[1] ?? '').reduce((sum, one) => sum + one, 0)).toBe(4_101);
  expect(
    [...merchants.matchAll(/([\d,.]+) USDC<\/text>/g)].map(([, usdc = '']) => Number(usdc.replaceAll(',', ''))),
  ).toEqual(paid(tables[1] ?? ''));
});

it('counts again after some seconds, not at each look', async () => {
  await seedFee(test.database, sellers[1] ?? 1n);
  // The row appears at once. The sums may be some seconds old, and the page shows when they were counted.
  expect(textOf((await page()).body)).toContain('4,102.00 USDC from 4,102 fees');
  expect(textOf((await page()).body)).toContain('4,101 fees so far');
  clock.set(NOON + 10_000);
  expect(textOf((await page()).body)).toContain('4,102 fees so far');
});

it('walks back to the first fee, and refuses what names none, as a page', async () => {
  const seen: number[] = [];
  for (let path: string | undefined = '/treasury?before_id=60'; path !== undefined; ) {
    const { status, body, tags } = await page(path);
    expect([path, status]).toEqual([path, 200]);
    seen.push(...[...body.matchAll(/>Fee (\d+)</g)].map(([, id]) => Number(id)));
    path = tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');
  }
  expect(seen).toEqual(Array.from({ length: 59 }, (_, at) => 59 - at));
  for (const [path, status] of [
    ['/treasury?before_id=99999', 400],
    ['/treasury?before_id=x', 400],
    ['/treasury?limit=0', 400],
    ['/treasury?shape=round', 400],
  ] as const) {
    const refused = await page(path);
    expect([path, refused.status, refused.headers['content-type']]).toEqual([path, status, 'text/html; charset=utf-8']);
    expect(refused.headers['cache-control']).toBe('private, no-store');
    expect(hrefs(refused.tags)).toContain('/treasury');
    expect((await get(path)).headers['content-type']).toBe('application/problem+json');
  }
});

it('has nothing of others in its markup, whatever a merchant is called', async () => {
  const before = (await page()).tags.map(({ name }) => name);
  // The market accepts no such handle, but the page does not rely on that.
  await test.database.run(sql`alter table merchants drop constraint merchants_handle_check`);
  const shape = (names: readonly string[]): string[] => [...new Set(names)].sort();
  for (const text of HOSTILE_TEXTS) {
    await test.database.run(sql`update merchants set handle = ${text} where id = ${sellers[0] ?? 1n}`);
    clock.set(clock.now() + 60_000);
    const { status, tags, body } = await page();
    expect([text, status, shape(tags.map(({ name }) => name))]).toEqual([text, 200, shape(before)]);
    const handlers = tags.flatMap(({ attributes }) => [...attributes.keys()].filter((name) => name.startsWith('on')));
    expect([text, handlers]).toEqual([text, []]);
    const unseen = body.replaceAll('\n', '').match(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu);
    expect([text, unseen]).toEqual([text, null]);
  }
});

it('says so when the books cannot be read, and draws nothing', async () => {
  const severable = await severableDatabase(test.url);
  const log = recordingLog().log;
  const other = createMarket({ ...marketContext({ database: severable.database, clock }), log });
  const open = () => other.http.inject({ url: '/treasury', headers: { accept: BROWSER } });
  expect((await open()).statusCode).toBe(200);
  await severable.sever();
  const { statusCode, body, headers } = await open();
  expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
    503,
    'text/html; charset=utf-8',
    'private, no-store',
  ]);
  expect(body).not.toContain('<svg class="chart"');
  expect(textOf(body)).toContain('If you have paid, do not pay again.');
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  await other.http.close({ drainMs: 0 });
  await severable.close();
});
