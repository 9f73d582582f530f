import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, severableDatabase } from '../../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import {
  seedEvent,
  seedMerchant,
  seedPaidPurchase,
  seedStock,
  withdrawListing,
} from '../../../../test/support/seed.ts';
import { EVENT_KINDS } from '../../../contract/vocabulary.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { showPrice } from '../storefront/render-text.ts';
import { KIND_WORDS } from './event-words.ts';

const NOON = Date.UTC(2026, 0, 6, 12, 0, 0);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const GOODS = 15;
const EVENTS = 130;

const clock = settableClock(NOON);
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let running: RunningMarket;
let url = '';
let ids: bigint[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ inventedEvents: true });
  const { database } = test;
  const { config, pepper, random } = marketContext({ database, clock });
  running = createMarket({ config, database, clock, log: recordingLog().log, pepper, random });
  await seedMerchant(database, { handle: 'keeper' });
  const { id } = await seedMerchant(database, { handle: 'ink' });
  ids = await seedStock(
    database,
    id,
    Array.from({ length: GOODS }, (_, at) => ({ title: `Goods number ${at + 1}`, priceUnits: BigInt(at) * 500_000n })),
  );
  await seedPaidPurchase(database, ids[GOODS - 1] ?? 1n);
  for (let at = 0; at < EVENTS; at += 1) {
    const kind = EVENT_KINDS[at % EVENT_KINDS.length] ?? 'sale';
    await seedEvent(database, kind, { listing_id: Number(ids[at % GOODS]), merchant_id: 2 }, 'ink');
  }
  await running.eventsSettled();
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function open(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const answer = await fetch(`${url}${path}`, { method, headers: { accept: BROWSER, ...headers } });
  const body = await answer.text();
  return { status: answer.status, headers: answer.headers, body, ...readMarkup(body) };
}

async function readJson<T>(path: string): Promise<T> {
  return (await (await fetch(`${url}${path}`)).json()) as T;
}

interface Page {
  events: { id: number; at: string; kind: string }[];
  total: number;
  next_before_id: number | null;
}

const idsIn = ({ tags }: { tags: ReturnType<typeof readMarkup>['tags'] }, prefix: string): number[] =>
  tags.flatMap(({ name, attributes }) => {
    const id = attributes.get('id') ?? '';
    return name === 'li' && id.startsWith(prefix) ? [Number(id.slice(prefix.length))] : [];
  });

const hrefsIn = ({ tags }: { tags: ReturnType<typeof readMarkup>['tags'] }): string[] =>
  tags.flatMap(({ name, attributes }) => (name === 'a' ? [attributes.get('href') ?? ''] : []));

it('the window shows what its route answers, with every total and a way on, and where its script goes on', async () => {
  const page = await open('/window');
  const { events, listings, merchants, aisles } = await readJson<{
    events: { items: Page['events']; total: number };
    listings: { items: { id: number; title: string; price_usdc: number }[]; total: number };
    merchants: { items: { handle: string }[]; total: number };
    aisles: { items: { name: string; count: number }[] };
  }>('/api/window');
  expect(page.status).toBe(200);
  expect(idsIn(page, 'event-')).toEqual(events.items.slice(0, 30).map(({ id }) => id));
  expect(idsIn(page, 'listing-')).toEqual(listings.items.slice(0, 12).map(({ id }) => id));
  for (const { title, price_usdc } of listings.items.slice(0, 12)) {
    expect(page.text).toContain(title);
    expect(page.text).toContain(showPrice(price_usdc));
  }
  for (const text of [`Happened ${events.total}`, `For sale ${GOODS}`, `Merchants ${merchants.total}`, '1 sale'])
    expect(page.text).toContain(text);
  expect(page.text).toContain(`Other ${aisles.items.find(({ name }) => name === 'other')?.count}`);
  expect(page.text.indexOf('ink', page.text.indexOf('All merchants'))).toBeLessThan(page.text.lastIndexOf('keeper'));
  expect(hrefsIn(page)).toEqual(
    expect.arrayContaining(['/events?scope=window', '/shelves', '/merchants', '/store/ink']),
  );
  const given = page.tags.find(({ attributes }) => attributes.has('data-live'))?.attributes.get('data-live');
  expect(JSON.parse(given ?? '')).toMatchObject({ last: events.items[0]?.id, stream: '/api/events/stream' });
  expect(page.headers.get('content-security-policy')).toContain("connect-src 'self'");
  expect(page.headers.get('content-security-policy')).not.toContain('nonce');
});

it('the window is kept: tags, HEAD, gzip, and the same bytes by the long way', async () => {
  const quick = await open('/window', { 'accept-encoding': 'identity' });
  const etag = quick.headers.get('etag') ?? '';
  const known = await open('/window', { 'accept-encoding': 'identity', 'if-none-match': etag });
  expect([known.status, known.body]).toEqual([304, '']);
  const head = await open('/window', { 'accept-encoding': 'identity' }, 'HEAD');
  expect([head.status, head.body, head.headers.get('etag')]).toEqual([200, '', etag]);
  const packed = await open('/window', { 'accept-encoding': 'gzip' });
  expect([packed.body === quick.body, packed.headers.get('content-encoding')]).toEqual([true, 'gzip']);
  const long = await running.http.inject({ url: '/window', headers: { accept: BROWSER } });
  expect([long.headers['etag'], long.body === quick.body]).toEqual([etag, true]);
  await withdrawListing(test.database, ids[0] ?? 0n);
  await seedEvent(test.database, 'withdrawal', { listing_id: Number(ids[0]) }, 'ink');
  await running.eventsSettled();
  const after = await open('/window');
  expect(after.headers.get('etag')).not.toBe(etag);
  expect(after.text).toContain(`For sale ${GOODS - 1}`);
  expect(after.text).toContain(`ink withdrew listing ${ids[0]}`);
});

it('the log is shown in full, page by page, whatever it is filtered by', async () => {
  const [, , third = 0n] = ids;
  for (const filter of ['', 'kind=sale', 'scope=door', 'scope=window', 'kind=moderation', `listing_id=${third}`]) {
    const shown: number[] = [];
    const expected: number[] = [];
    let path: string | undefined = `/events?${filter}`;
    while (path !== undefined) {
      const page = await open(path);
      const { total } = await readJson<Page>(`/api/events?${filter}&limit=1`.replace('?&', '?'));
      expect(page.text).toContain(`${total} events, newest first`);
      shown.push(...idsIn(page, 'event-'));
      path = page.tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');
    }
    const log = await readJson<Page>(`/api/events?${filter}`);
    expected.push(...log.events.map(({ id }) => id));
    expect([filter, shown]).toEqual([filter, expected]);
  }
});

it('a record says its number, its exact time and its kind; each filter names its JSON and its stream', async () => {
  const page = await open('/events?kind=sale');
  const [newest] = (await readJson<Page>('/api/events?kind=sale&limit=1')).events;
  expect(page.text).toContain(`Event ${newest?.id}`);
  expect(page.text).toContain(`${newest?.at.slice(0, 10)} ${newest?.at.slice(11, 19)} UTC`);
  expect(page.text).toContain('The log only grows');
  expect(hrefsIn(page)).toContain('/api/events?kind=sale');
  expect(page.text).toContain('/api/events/stream?kind=sale');
  expect((await open('/events?kind=&scope=')).text).toContain('Everything');
  const options = page.tags.filter(({ name, isEnd }) => name === 'option' && !isEnd);
  expect(options.map(({ attributes }) => attributes.get('value'))).toEqual(['', ...EVENT_KINDS]);
  expect(options.filter(({ attributes }) => attributes.has('selected'))).toHaveLength(1);
  for (const kind of EVENT_KINDS) expect((await open(`/events?kind=${kind}`)).text).toContain(KIND_WORDS[kind].name);
});

it('what the log refuses is a page that can be put right, and a problem for programs', async () => {
  const refused = ['kind=gossip', 'scope=all', 'kind=sale&scope=door', 'before_id=0', 'before_id=999999'];
  for (const query of [...refused, 'listing_id=x', 'listing_id=1&kind=sale']) {
    const page = await open(`/events?${query}`);
    expect([query, page.status, page.headers.get('cache-control')]).toEqual([query, 400, 'private, no-store']);
    expect(page.tags.some(({ name }) => name === 'select')).toBe(true);
    expect((await open(`/events?${query}`, { accept: 'application/json' })).status).toBe(400);
  }
});

it('while the database is away the log and the moderation fail as what they are, and the window goes on', async () => {
  const severable = await severableDatabase(test.url);
  const away = createMarket({ ...marketContext({ database: severable.database, clock }) });
  await away.eventsSettled();
  await severable.sever();
  for (const path of ['/events', '/moderation']) {
    const answer = await away.http.inject({ url: path, headers: { accept: BROWSER } });
    const { text } = readMarkup(answer.body);
    expect([path, answer.statusCode, answer.headers['cache-control']]).toEqual([path, 503, 'private, no-store']);
    expect(text).not.toMatch(/has happened yet|was ever removed/);
    expect(answer.headers['retry-after']).toBeDefined();
  }
  const window = await away.http.inject({ url: '/window', headers: { accept: BROWSER } });
  expect([window.statusCode, readMarkup(window.body).text.includes('Goods number 9')]).toEqual([200, true]);
  await away.http.close({ drainMs: 0 });
  await severable.close();
});
