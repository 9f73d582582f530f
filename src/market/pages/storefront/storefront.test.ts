import { gzipSync } from 'node:zlib';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { readMarkup, strangeTags } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import {
  editListing,
  removeListing,
  seedEvent,
  seedMerchant,
  seedStock,
  withdrawListing,
} from '../../../../test/support/seed.ts';
import type { ListingSummary } from '../../../contract/listings.ts';
import { AISLE_WORDS, AISLES } from '../../../contract/vocabulary.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { AGE_STEP_MS, cleanText, showCount, showPrice } from './render-text.ts';

const NOON = Date.UTC(2026, 0, 6, 12, 0, 0);
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const GOODS = 33;
const COMMENTS = 23;

const clock = settableClock(NOON);
const { log, lines } = recordingLog();
let test: TestDatabase & { drop(): Promise<void> };
let running: RunningMarket;
let url = '';
let ids: bigint[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ inventedEvents: true });
  const { database } = test;
  const { config, pepper, random } = marketContext({ database, clock });
  running = createMarket({ config, database, clock, log, pepper, random });
  const { id } = await seedMerchant(database, { handle: 'ink' });
  await seedMerchant(database, { handle: 'quill' });
  const prices = [0n, 500n, 2_500_000n, 10_000_000_000n, 1_234_567n];
  ids = await seedStock(
    database,
    id,
    Array.from({ length: GOODS }, (_, at) => ({
      title: `Goods number ${at + 1}`,
      description: `What it is, said of ${at + 1}\nin two lines`,
      aisle: AISLES.filter((aisle) => aisle !== 'world')[at % 8] ?? 'other',
      tags: at === 0 ? ['first-of-all'] : [],
      keywords: at === 0 ? ['csv', 'a need & more'] : [],
      license: at === 5 ? 'MIT OR ISC' : null,
      priceUnits: prices[at % prices.length] ?? 0n,
    })),
  );
  await seedEvent(database, 'register', {}, 'ink');
  await seedEvent(database, 'sale', { listing_id: Number(ids[2]) }, 'quill');
  await awaitEvents();
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

/** Waits until the shelves show everything that was seeded. */
const awaitEvents = async (): Promise<void> => {
  await running.eventsSettled();
  clock.set(clock.now() + 100);
};
const idOf = (at: number): number => Number(ids[at - 1] ?? 0n);

async function open(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const answer = await fetch(`${url}${path}`, { method, headers: { accept: BROWSER, ...headers } });
  const body = await answer.text();
  return { status: answer.status, headers: answer.headers, body, ...readMarkup(body) };
}

async function readJson(path: string) {
  const answer = await fetch(`${url}${path}`);
  return (await answer.json()) as Record<string, never> & { listings: ListingSummary[] };
}

const linksIn = ({ tags }: { tags: ReturnType<typeof readMarkup>['tags'] }): string[] =>
  tags.filter(({ name }) => name === 'a').map(({ attributes }) => attributes.get('href') ?? '');

it('shelves show what the route answers: totals, aisles, titles, prices and merchants, page by page', async () => {
  const rows: string[] = [];
  let path: string | undefined = '/shelves';
  while (path !== undefined) {
    const page = await open(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`${GOODS} listings`);
    rows.push(...linksIn(page).filter((link) => link.startsWith('/listing/')));
    path = page.tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');
  }
  const { listings, aisles } = await readJson('/api/shelves?limit=50');
  expect(rows).toEqual(listings.map(({ id }) => `/listing/${id}`));
  const { text, body } = await open('/shelves');
  for (const { title, price_usdc } of listings.slice(0, 30)) {
    expect(text).toContain(title);
    expect(text).toContain(showPrice(price_usdc));
  }
  for (const { name, count } of aisles as unknown as { name: 'data'; count: number }[]) {
    expect(text).toContain(`${AISLE_WORDS[name].name} ${count}`);
    expect(body).toContain(`href="/shelves/${name}"`);
  }
});

it('the form narrows without a script, in short names, and says back what was asked for', async () => {
  const cases: [string, string, string][] = [
    ['/shelves?q=&sort=&aisle=&free=true&price=', '/api/shelves?free=true&limit=50', 'that are free'],
    ['/shelves?q=number+7&sort=relevance', '/api/shelves?q=number+7&limit=50', 'number 7'],
    ['/shelves?sort=relevance', '/api/shelves?limit=50', ''],
    ['/shelves?price=2,5&sort=price_asc', '/api/shelves?max_price_usdc=2.5&sort=price_asc&limit=50', 'up to 2.5 USDC'],
    ['/shelves/data', '/api/shelves?aisle=data&limit=50', 'Data'],
    ['/shelves?aisle=data', '/api/shelves?aisle=data&limit=50', 'Data'],
    ['/shelves?tag=first-of-all', '/api/shelves?tag=first-of-all&limit=50', 'with the tag first-of-all'],
    ['/shelves?license=MIT+OR+ISC', '/api/shelves?license=MIT+OR+ISC&limit=50', 'with the license MIT OR ISC'],
  ];
  for (const [path, route, says] of cases) {
    const { listings } = await readJson(route);
    const page = await open(path);
    const shown = linksIn(page).filter((link) => link.startsWith('/listing/'));
    expect([path, shown]).toEqual([path, listings.slice(0, 30).map(({ id }) => `/listing/${id}`)]);
    expect(page.text).toContain(showCount(listings.length, 'listing'));
    expect(page.text).toContain(says);
  }
  const none = await open('/shelves?q=nothingiscalledthat');
  expect(none.text).toContain('Nothing here fits.');
});

it('a license is a fact of the listing and leads to what else comes under it; the form says it back', async () => {
  const page = await open(`/listing/${idOf(6)}`);
  expect(page.text).toContain('LicenseMIT OR ISC');
  expect(linksIn(page)).toContain('/shelves?license=MIT+OR+ISC');
  const shelves = await open('/shelves?license=MIT+OR+ISC');
  expect(shelves.body).toMatch(/<details open>.*name="license" value="MIT OR ISC"/s);
});

it('a listing shows its price in full, its evidence, and ways to buy that fit its price', async () => {
  for (const at of [1, 2, 3, 4, 5]) {
    const { listing } = (await readJson(`/api/listing/${idOf(at)}`)) as unknown as { listing: ListingSummary };
    const page = await open(`/listing/${listing.id}`);
    for (const fact of [
      listing.title,
      showPrice(listing.price_usdc),
      listing.artifact_commitment ?? '',
      listing.seller_wallet,
    ])
      expect(page.text).toContain(fact);
    expect(page.body).toContain('<h1>');
    expect(page.body.match(/<h1/g)).toHaveLength(1);
    const isBySmallTransfer = listing.price_usdc > 0 && listing.price_usdc < 0.001;
    const path = isBySmallTransfer ? `/api/purchase-intent/${listing.id}` : `/api/buy/${listing.id}`;
    expect(page.text).toContain(`${'http://127.0.0.1:4020'}${path}`);
    expect(page.text.includes('X-PAYMENT')).toBe(listing.price_usdc >= 0.001);
  }
  expect((await open(`/listing/${idOf(1)}`)).text).toContain('Free');
  expect((await open(`/listing/${idOf(4)}`)).text).toContain('10,000.00 USDC');
});

it('what is removed or withdrawn says so, with the reason and no way to buy', async () => {
  const { database } = test;
  const [withdrawn = 0n, removed = 0n] = ids.slice(-2);
  await withdrawListing(database, withdrawn);
  await removeListing(database, removed);
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'It was allowed', removed_at from removals where listing_id = ${removed}`);
  await awaitEvents();
  const gone = await open(`/listing/${withdrawn}`);
  expect(gone.text).toContain('Withdrawn by its merchant');
  expect(gone.text).toContain('enough');
  expect(gone.text).not.toContain('How to');
  const taken = await open(`/listing/${removed}`);
  for (const text of ['Removed by the maintainer', '(policy)', 'not allowed', 'It was allowed', 'not decided yet'])
    expect(taken.text).toContain(text);
  expect(taken.text).not.toContain('How to');
  expect(linksIn(await open('/store/ink')).filter((link) => link.startsWith('/listing/'))).toHaveLength(30);
});

it('comments come page by page, with who has bought marked, and what was removed emptied', async () => {
  const { database } = test;
  const listing = idOf(3);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, parent_id, body, created_at)
    select n, ${listing}, 2, case n when 2 then 1 end, 'said ' || n, now() from generate_series(1, ${COMMENTS}) n`);
  await database.run(sql`
    update comments set removed_at = now(), removed_reason_code = 'spam', removed_reason = 'it was' where id = 5`);
  await awaitEvents();
  const first = await open(`/listing/${listing}`);
  expect(first.text).toContain('23 comments');
  expect(first.text).toContain('said 15');
  expect(first.text).not.toContain('said 16');
  expect(first.text).toContain('Removed by the maintainer: spam');
  const next = linksIn(first).find((link) => link.includes('comments_after_id'));
  const rest = await open(String(next));
  expect(rest.text).toContain('said 23');
  expect(rest.text).not.toContain('said 15');
});

it('a store, the merchants and the front page say what their routes say', async () => {
  const store = await open('/store/ink');
  const { total } = await readJson('/api/store/ink?limit=1');
  expect(store.text).toContain(`${total} listings`);
  const later = store.tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');
  expect(linksIn(await open(String(later))).some((link) => link.startsWith('/listing/'))).toBe(true);
  const merchants = await open('/merchants');
  expect(merchants.text).toContain('2 merchants have a store');
  expect(linksIn(merchants)).toEqual(expect.arrayContaining(['/store/ink', '/store/quill']));
  const front = await open('/');
  expect(front.text).toContain('ink Maintainer opened a store');
  expect(front.text).toContain(`quill bought listing ${idOf(3)}`);
  expect(front.headers.get('link')).toContain('rel="api-catalog"');
});

it('every address that the pages offer leads somewhere', async () => {
  const pages = ['/', '/shelves', '/store/ink', '/merchants', `/listing/${idOf(1)}`];
  const links = new Set((await Promise.all(pages.map((path) => open(path)))).flatMap(linksIn));
  const own = [...links].filter((link) => link.startsWith('/')).map((link) => link.replace(/#.*/, ''));
  // A few rows are enough, because all have the same structure.
  const few = own.filter((link) => !link.startsWith('/listing/') || Number(link.slice('/listing/'.length)) < 4);
  const found = await Promise.all(few.map(async (path) => [path, (await open(path)).status]));
  expect(found.filter(([, status]) => Number(status) >= 400)).toEqual([]);
  expect(few.length).toBeGreaterThan(25);
});

it('programs find the same front door as ever', async () => {
  for (const accept of ['application/json', 'text/markdown', '*/*']) {
    const { headers, body } = await open('/', { accept });
    expect(headers.get('content-type')).toMatch(/^(?:application\/json|text\/plain)/);
    expect(body).toContain('do_not_pay_again');
    expect(body).not.toContain('<html');
  }
});

it('every page answers HEAD, 304 and gzip, and tells the three apart by their tags', async () => {
  const paths = [
    '/',
    '/shelves',
    '/shelves/data',
    `/listing/${idOf(1)}`,
    `/listing/${idOf(3)}`,
    '/store/ink',
    '/merchants',
    '/feed.atom',
  ];
  for (const path of paths) {
    const page = await open(path, { 'accept-encoding': 'identity' });
    const tag = page.headers.get('etag') ?? '';
    expect([path, page.status, page.headers.get('cache-control')]).toEqual([
      path,
      200,
      'public, max-age=1, stale-while-revalidate=5',
    ]);
    expect(page.headers.get('vary')).toContain('accept');
    const head = await open(path, { 'accept-encoding': 'identity' }, 'HEAD');
    expect([path, head.status, head.body, head.headers.get('etag')]).toEqual([path, 200, '', tag]);
    const known = await open(path, { 'accept-encoding': 'identity', 'if-none-match': tag });
    expect([path, known.status, known.body]).toEqual([path, 304, '']);
  }
  const packed = await open('/shelves', { 'accept-encoding': 'gzip' });
  const plain = await open('/shelves', { 'accept-encoding': 'identity' });
  expect(packed.headers.get('content-encoding')).toBe('gzip');
  expect(packed.body).toBe(plain.body);
  expect(packed.headers.get('etag')).not.toBe(plain.headers.get('etag'));
});

it('the framework, which gets busy or unusual requests, answers the same bytes as memory', async () => {
  for (const path of ['/', '/shelves/data', `/listing/${idOf(1)}`, '/store/ink', '/merchants', '/feed.atom']) {
    const quick = await open(path, { 'accept-encoding': 'identity' });
    const long = await running.http.inject({ url: path, headers: { accept: BROWSER } });
    expect([path, long.statusCode, long.headers['etag']]).toEqual([path, 200, quick.headers.get('etag')]);
    expect(long.body).toBe(quick.body);
    const head = await running.http.inject({ method: 'HEAD', url: path, headers: { accept: BROWSER } });
    expect([path, head.statusCode, head.headers['etag']]).toEqual([path, 200, quick.headers.get('etag')]);
    const known = { accept: BROWSER, 'if-none-match': quick.headers.get('etag') ?? '' };
    expect([path, (await running.http.inject({ url: path, headers: known })).statusCode]).toEqual([path, 304]);
  }
});

it('a kept page changes with what it shows, and ages in steps', async () => {
  const path = `/listing/${idOf(6)}`;
  const before = await open(path);
  expect((await open(path)).headers.get('etag')).toBe(before.headers.get('etag'));
  await editListing(test.database, ids[5] ?? 0n, { description: 'Something else by now' });
  await awaitEvents();
  const after = await open(path);
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  expect(after.text).toContain('Something else by now');
  clock.set(NOON + AGE_STEP_MS - 1);
  expect((await open(path)).body).toBe(after.body);
  clock.set(NOON + 3 * 86_400_000);
  expect((await open(path)).text).toContain('3 days ago');
  clock.set(NOON);
});

it('what the route refuses is a page of the same status for people, and a problem for programs', async () => {
  const cases: [string, number][] = [
    ['/listing/999999', 404],
    ['/listing/one', 404],
    ['/store/unknown', 404],
    ['/shelves/nowhere', 404],
    ['/shelves?price=much', 400],
    ['/shelves?cursor=made-up', 400],
    ['/shelves?q=a&q=b', 400],
    ['/merchants?after_id=999999', 400],
    [`/listing/${idOf(1)}?comments_after_id=999999`, 400],
  ];
  for (const [path, status] of cases) {
    const page = await open(path);
    expect([path, page.status, page.headers.get('content-type')]).toEqual([path, status, 'text/html; charset=utf-8']);
    expect(page.body.match(/<h1/g)).toHaveLength(1);
    expect(page.headers.get('cache-control')).toBe('private, no-store');
    const problem = await open(path, { accept: 'application/json' });
    expect([path, problem.status, JSON.parse(problem.body).status]).toEqual([path, status, status]);
  }
  expect((await open('/shelves?price=much')).text).toContain('The highest price must be');
});

/** Checks that no element, attribute or address of a page comes from a user's text. */
async function mustBeOurs(path: string): Promise<Awaited<ReturnType<typeof open>>> {
  const page = await open(path);
  expect([path, strangeTags(page.tags)]).toEqual([path, []]);
  expect(page.text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  return page;
}

it('hostile texts stay texts in every field on every page', async () => {
  const { database } = test;
  const { id: seller } = await seedMerchant(database, { handle: 'rogue' });
  const stock = HOSTILE_TEXTS.map((text) => ({
    ...{ title: text, preview: text, tags: [shortOf(text)], keywords: [shortOf(text)], license: text },
    description: `${text}\nand ${text}`,
  }));
  const made = await seedStock(database, seller, stock);
  for (const [at, id] of made.entries()) {
    const text = HOSTILE_TEXTS[at] ?? '';
    await database.run(sql`
      insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at, store_line)
      values (${100 + at}, ${`rogue-${at}`}, ${`rogue-${at}`}, 'a model', 'coding_persistent', now(), ${shortOf(text)})`);
    await database.run(sql`
      insert into comments (id, listing_id, merchant_id, body, created_at, text_flags)
      values (${100 + at}, ${id}, ${100 + at}, ${text}, now(), '{instructions}')`);
  }
  await awaitEvents();
  await mustBeOurs('/');
  for (const path of ['/shelves', '/store/rogue', '/store/rogue-0', '/merchants']) {
    expect((await mustBeOurs(path)).text).toContain('<script>alert(1)</script>');
  }
  for (const [at, id] of made.entries()) {
    const text = HOSTILE_TEXTS[at] ?? '';
    if (at % 4 === 0) await mustBeOurs(`/shelves?q=${encodeURIComponent(shortOf(text).slice(0, 60))}`);
    const listing = await mustBeOurs(`/listing/${id}`);
    expect(listing.text).toContain(cleanText(`${text}\nand ${text}`));
    expect(listing.text).toContain(`License${cleanText(text)}`);
    expect(listing.text).toContain('Flagged text');
  }
  await database.run(sql`
    update listings set state = 'withdrawn', withdrawn_at = now(), withdrawn_reason = description where merchant_id = ${seller}`);
  await awaitEvents();
  for (const id of made) expect((await mustBeOurs(`/listing/${id}`)).text).toContain('Withdrawn by its merchant');
});

const shortOf = (text: string): string => [...text].slice(0, 120).join('');

it('the feed is well-formed XML with the newest listings, whatever they are called', async () => {
  await editListing(test.database, ids[7] ?? 0n, {
    title: `${HOSTILE_TEXTS.join(' ').slice(0, 900)}`,
    description: ']]> <x>',
  });
  await awaitEvents();
  const { body, tags, headers } = await open('/feed.atom');
  expect(headers.get('content-type')).toBe('application/atom+xml; charset=utf-8');
  const opened: string[] = [];
  for (const { name, isEnd } of tags.slice(1)) {
    if (isEnd) expect(opened.pop()).toBe(name);
    else if (name !== 'link' && name !== 'category') opened.push(name);
  }
  expect(opened).toEqual([]);
  expect(body.replaceAll(/&(?:lt|gt|quot|amp|#\d+|#x[0-9a-f]+);/g, '')).not.toContain('&');
  const { total } = await readJson('/api/shelves?limit=1');
  expect(tags.filter(({ name, isEnd }) => name === 'entry' && !isEnd)).toHaveLength(Math.min(50, Number(total)));
});

it('a listing page is small: four requests before the first paint, and 30 KB packed', async () => {
  const page = await open(`/listing/${idOf(3)}`);
  const first = page.tags.filter(
    ({ name, attributes, isEnd }) =>
      !isEnd &&
      ((name === 'link' && attributes.get('rel') === 'stylesheet') || (name === 'script' && !attributes.has('defer'))),
  );
  expect(first.length + 1).toBeLessThanOrEqual(4);
  expect(gzipSync(page.body).byteLength).toBeLessThanOrEqual(30 * 1024);
  expect(lines.filter(({ event }) => event === 'cached_read_failed' || event === 'request_failed')).toEqual([]);
});
