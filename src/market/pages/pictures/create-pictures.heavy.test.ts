import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { editListing, removeListing, seedMerchant, seedStock } from '../../../../test/support/seed.ts';
import type { ListingDetail } from '../../../contract/listings.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { createPainting, pictureOfListing } from './create-pictures.ts';

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';
let test: TestDatabase & { drop(): Promise<void> };
let running: RunningMarket;
let seller = 0n;
let ids: bigint[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  const { config, pepper, random, clock } = marketContext({ database: test.database });
  running = createMarket({ config, database: test.database, clock, log: recordingLog().log, pepper, random });
  seller = (await seedMerchant(test.database, { handle: 'ink-and-paper' })).id;
  ids = await seedStock(test.database, seller, [{ title: 'Tide tables' }, { title: 'To be removed' }]);
  await running.eventsSettled();
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function get(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  const {
    statusCode: status,
    headers: sent,
    rawPayload: bytes,
    body,
  } = await running.http.inject({ method, url, headers });
  return { status, headers: sent, bytes, body };
}

it('serves a picture of a listing and of a store, kept for an hour and checked by its tag', async () => {
  for (const url of [`/pictures/listing/${ids[0]}.png`, '/pictures/store/ink-and-paper.png']) {
    const { status, headers, bytes } = await get(url);
    expect([url, status, headers['content-type']]).toEqual([url, 200, 'image/png']);
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([1200, 630]);
    expect(headers['cache-control']).toBe('public, max-age=3600');
    const again = await get(url, { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.bytes.length, again.headers['cache-control']]).toEqual([
      304,
      0,
      'public, max-age=3600',
    ]);
    const head = await get(url, {}, 'HEAD');
    expect([head.status, head.bytes.length, head.headers['etag']]).toEqual([200, 0, headers['etag']]);
  }
});

it('changes with what it shows, and shows nothing of what was removed', async () => {
  const url = `/pictures/listing/${ids[1]}.png`;
  const before = await get(url);
  await editListing(test.database, ids[1] ?? 0n, { title: 'Called otherwise' });
  await running.eventsSettled();
  const edited = await get(url);
  expect(edited.headers['etag']).not.toBe(before.headers['etag']);
  await removeListing(test.database, ids[1] ?? 0n);
  await running.eventsSettled();
  const removed = await get(url);
  expect(removed.status).toBe(200);
  expect(removed.headers['etag']).not.toBe(edited.headers['etag']);
  // A removed listing's picture does not depend on what the merchant wrote.
  const neutral = { id: Number(ids[1]), aisle: 'other', title: '', merchant: '', price_usdc: 0, state: 'removed' };
  const painting = createPainting();
  onTestFinished(() => painting.stop());
  const painted = await painting.paint(pictureOfListing({ ...neutral, removed: true } as ListingDetail));
  expect(removed.bytes.equals(Buffer.from(painted))).toBe(true);
});

it('refuses what is no picture as every address does', async () => {
  for (const url of [
    '/pictures/listing/999999.png',
    `/pictures/listing/${ids[0]}`,
    `/pictures/listing/${ids[0]}.gif`,
    '/pictures/listing/.png',
    '/pictures/listing/1e3.png',
    '/pictures/store/unknown.png',
    '/pictures/store/%00.png',
    '/pictures/other/1.png',
  ]) {
    const { status, headers } = await get(url, { accept: 'image/avif,image/png,*/*;q=0.8' });
    expect([url, status, headers['content-type'], headers['cache-control']]).toEqual([
      url,
      404,
      'application/problem+json',
      'private, no-store',
    ]);
  }
});

it('paints whatever a title may be', async () => {
  const few = HOSTILE_TEXTS.filter((_, at) => at % Math.ceil(HOSTILE_TEXTS.length / 12) === 0);
  const titles = [...few, '从合同中读取发票', '😀'.repeat(60), 'W'.repeat(120), '&amp;<>"\'', '</text><text>'];
  const made = await seedStock(
    test.database,
    seller,
    titles.map((title) => ({ title })),
  );
  await running.eventsSettled();
  for (const [at, id] of made.entries()) {
    const { status, bytes } = await get(`/pictures/listing/${id}.png`);
    expect([titles[at], status, bytes.subarray(1, 4).toString()]).toEqual([titles[at], 200, 'PNG']);
  }
});

it('answers when it is asked for more at once than it paints: with the picture, or when to come again', async () => {
  const made = await seedStock(
    test.database,
    seller,
    Array.from({ length: 40 }, (_, at) => ({ title: `One of many ${at}` })),
  );
  await running.eventsSettled();
  const answers = await Promise.all(made.map((id) => get(`/pictures/listing/${id}.png`)));
  const refused = answers.filter(({ status }) => status === 503);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(8);
  expect(refused.every(({ headers }) => headers['retry-after'] === '2')).toBe(true);
});

it('has the mark for who asks for an icon, and for a touch screen', async () => {
  const icon = await get('/favicon.ico');
  expect([icon.status, icon.headers['content-type']]).toEqual([200, 'image/x-icon']);
  expect([...icon.bytes.subarray(0, 8)]).toEqual([0, 0, 1, 0, 1, 0, 32, 32]);
  expect(icon.bytes.readUInt32LE(14)).toBe(icon.bytes.length - 22);
  expect(icon.bytes.subarray(23, 26).toString()).toBe('PNG');
  const touch = await get('/apple-touch-icon.png');
  expect([touch.headers['content-type'], touch.bytes.readUInt32BE(16)]).toEqual(['image/png', 180]);
});

it('is named by the page it stands for, with a whole address that leads to it', async () => {
  const path = '/store/ink-and-paper';
  const { tags } = readMarkup((await get(path, { accept: BROWSER })).body);
  const property = (name: string) =>
    tags.find(({ attributes }) => attributes.get('property') === name)?.attributes.get('content');
  const base = 'http://127.0.0.1:4020';
  expect([property('og:title'), property('og:url')]).toEqual(['ink-and-paper, a store at Openaisle', `${base}${path}`]);
  const picture = property('og:image') ?? '';
  expect(picture).toBe(`${base}/pictures/store/ink-and-paper.png`);
  expect((await get(picture.slice(base.length))).status).toBe(200);
  const canonical = tags.find(({ attributes }) => attributes.get('rel') === 'canonical');
  expect(canonical?.attributes.get('href')).toBe(`${base}${path}`);
});

it('is named once: shelves as they are have an address of their own, what is searched and what goes on has none', async () => {
  const canonicalOf = async (path: string) => {
    const { tags } = readMarkup((await get(path, { accept: BROWSER })).body);
    return tags.flatMap(({ attributes }) => (attributes.get('rel') === 'canonical' ? [attributes.get('href')] : []));
  };
  const base = 'http://127.0.0.1:4020';
  expect(await canonicalOf('/shelves')).toEqual([`${base}/shelves`]);
  expect(await canonicalOf('/shelves?aisle=other')).toEqual([`${base}/shelves/other`]);
  expect(await canonicalOf('/shelves/other')).toEqual([`${base}/shelves/other`]);
  for (const path of ['/shelves?q=tide', '/shelves/other?sort=sales', '/store/ink-and-paper?before_id=9'])
    expect([path, await canonicalOf(path)]).toEqual([path, []]);
});
