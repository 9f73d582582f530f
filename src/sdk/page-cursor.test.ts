import { afterEach, expect, test } from 'vitest';
import { listingSummary, merchantRecord, TREASURY } from '../../test/support/market-answers.ts';
import { type ScriptedMarket, startScriptedMarket } from '../../test/support/scripted-market.ts';
import type { QueryGiven } from '../contract/endpoint.ts';
import type { Endpoints } from '../contract/index.ts';
import { browseShelves } from '../contract/shelves.ts';
import { type Client, createClient } from './client.ts';
import { type Page, PageRefused, rowsOf } from './page-cursor.ts';
import {
  eventPages,
  merchantPages,
  purchasePages,
  type ShelfFilters,
  shelfPages,
  storePages,
  treasuryPages,
} from './pages.ts';

const AT = '2026-01-02T03:04:05.678Z';
let market: ScriptedMarket | undefined;
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});

/** Serves the bodies in order, and the last one for all further requests. */
async function clientOf(bodies: object[]): Promise<Client> {
  market = await startScriptedMarket((_, index) => ({ status: 200, body: bodies[Math.min(index, bodies.length - 1)] }));
  return createClient({ baseUrl: market.baseUrl, key: 'k' });
}

function counts(ids: readonly number[], total: number, more: boolean) {
  return { total, returned: ids.length, page_size: 2, has_more: more };
}

function event(id: number) {
  return { id, at: AT, kind: 'listing', actor: 'ada', detail: {} };
}

function eventPage(ids: number[], total: number, more: boolean, bent: object = {}) {
  return {
    events: ids.map(event),
    ...counts(ids, total, more),
    next_before_id: more ? (ids.at(-1) ?? 1) : null,
    ...bent,
  };
}

function shelfPage(rows: [number, boolean][], total: number, cursor: string | null, bent: object = {}) {
  const ids = rows.map(([id]) => id);
  const listings = rows.map(([id, pinned]) => listingSummary(id, { pinned }));
  return {
    aisles: [],
    listings,
    ...counts(ids, total, cursor !== null),
    next_cursor: cursor,
    did_you_mean: null,
    ...bent,
  };
}

function merchantPage(ids: number[], total: number, more: boolean) {
  const next_after_id = more ? (ids.at(-1) ?? 1) : null;
  return { merchants: ids.map(merchantRecord), ...counts(ids, total, more), next_after_id };
}

async function idsOf<Row extends { id: number }>(pages: AsyncIterable<Page<Row>>): Promise<number[]> {
  const ids: number[] = [];
  for await (const row of rowsOf(pages)) ids.push(row.id);
  return ids;
}

async function lieIn(pages: AsyncIterable<Page<{ id: number }>>): Promise<string> {
  try {
    await idsOf(pages);
  } catch (error) {
    if (error instanceof PageRefused) return error.lie;
    throw error;
  }
  return 'believed';
}

test('an honest log is walked to its end, with cursor and filter in every request', async () => {
  const client = await clientOf([eventPage([5, 4], 5, true), eventPage([3, 2], 9, true), eventPage([1], 9, false)]);
  expect(await idsOf(eventPages(client, { limit: 2 }))).toEqual([5, 4, 3, 2, 1]);
  expect(market?.seen.map((request) => request.path)).toEqual([
    '/api/events?limit=2',
    '/api/events?limit=2&before_id=4',
    '/api/events?limit=2&before_id=2',
  ]);
});

test('an empty collection ends at once', async () => {
  expect(await idsOf(eventPages(await clientOf([eventPage([], 0, false)])))).toEqual([]);
});

const eventLies: [string, object[], string][] = [
  ['no cursor though more are promised', [eventPage([5, 4], 5, true, { next_before_id: null })], 'missing_cursor'],
  [
    'the same cursor again',
    [eventPage([5, 4], 5, true), eventPage([3, 2], 5, true, { next_before_id: 4 })],
    'repeated_cursor',
  ],
  ['a cursor that goes back', [eventPage([5, 4], 5, true, { next_before_id: 5 })], 'cursor_does_not_advance'],
  ['a cursor that leaves rows out', [eventPage([5, 4], 5, true, { next_before_id: 2 })], 'cursor_skips_rows'],
  ['a cursor after the end', [eventPage([2, 1], 2, false, { next_before_id: 1 })], 'cursor_after_the_end'],
  ['a wrong returned', [eventPage([5, 4], 5, true, { returned: 3 })], 'wrong_returned'],
  ['a page larger than its size', [eventPage([3, 2, 1], 3, false)], 'page_too_large'],
  ['another page size than asked for', [eventPage([2, 1], 2, false, { page_size: 50 })], 'wrong_page_size'],
  ['an empty page with more to come', [eventPage([], 5, true)], 'empty_page'],
  ['rows out of order', [eventPage([4, 5], 5, true)], 'missing_row'],
  ['rows out of order later on', [eventPage([5, 4], 5, true), eventPage([2, 3], 5, true)], 'missing_row'],
  ['a hole between pages', [eventPage([5, 4], 5, true), eventPage([2, 1], 5, false)], 'missing_row'],
  ['the same page for ever', [eventPage([5, 4], 5, true)], 'repeated_row'],
  ['an end before the total', [eventPage([5, 4], 5, true), eventPage([3], 5, false)], 'fewer_than_total'],
  ['a first page that hides the rest', [eventPage([5, 4], 5, false)], 'wrong_total'],
  ['a first page beyond its total', [eventPage([5, 4], 1, false)], 'more_than_total'],
  ['a head that is not the newest', [eventPage([5, 4], 6, true)], 'missing_row'],
];
test.each(eventLies)('the log is not believed with %s', async (_, bodies, lie) => {
  expect(await lieIn(eventPages(await clientOf(bodies), { limit: 2 }))).toBe(lie);
});

test('ids may begin again where a recovery says so, and nowhere else', async () => {
  const recovery = { ...event(12), kind: 'recovery', detail: { kept_event_id: 1, next_event_id: 11 } };
  const newest = (told: object) => ({ ...eventPage([12, 11], 4, true), events: [told, event(11)] });
  const honest = await clientOf([newest(recovery), eventPage([2, 1], 4, false)]);
  expect(await idsOf(eventPages(honest, { limit: 2 }))).toEqual([12, 11, 2, 1]);
  const silent = await clientOf([newest(event(12)), eventPage([2, 1], 4, false)]);
  expect(await lieIn(eventPages(silent, { limit: 2 }))).toBe('missing_row');
  const another = await clientOf([newest(recovery), eventPage([3, 1], 4, false)]);
  expect(await lieIn(eventPages(another, { limit: 2 }))).toBe('missing_row');
  const cut = await clientOf([eventPage([5, 4], 4, true), eventPage([3, 2], 4, false)]);
  expect(await lieIn(eventPages(cut, { limit: 2 }))).toBe('missing_row');
});

test('rows beyond the first total stop the walk, and so does the promise of them', async () => {
  const beyond = [eventPage([9, 8], 3, true), eventPage([7, 6], 3, false)];
  expect(await lieIn(eventPages(await clientOf(beyond), { kind: 'listing' }))).toBe('more_than_total');
  const promised = [eventPage([9, 8], 4, true), eventPage([7, 6], 4, true)];
  expect(await lieIn(eventPages(await clientOf(promised), { kind: 'listing' }))).toBe('more_than_total');
});

test('a filtered log may have holes but must fall', async () => {
  const honest = [eventPage([9, 4], 3, true), eventPage([2], 3, false)];
  expect(await idsOf(eventPages(await clientOf(honest), { scope: 'door' }))).toEqual([9, 4, 2]);
  const bent = [eventPage([4, 9], 3, true)];
  expect(await lieIn(eventPages(await clientOf(bent), { scope: 'door' }))).toBe('out_of_order');
});

test('shelves rise once, after the pinned listings, and never repeat a row or a cursor', async () => {
  const pinned = shelfPage(
    [
      [8, true],
      [3, true],
    ],
    5,
    'a',
  );
  const honest = [
    pinned,
    shelfPage(
      [
        [9, false],
        [7, false],
      ],
      6,
      'b',
    ),
    shelfPage([[2, false]], 6, null),
  ];
  expect(await idsOf(shelfPages(await clientOf(honest), { aisle: 'other' }))).toEqual([8, 3, 9, 7, 2]);
  const twice = [
    pinned,
    shelfPage(
      [
        [9, false],
        [7, false],
      ],
      5,
      'b',
    ),
    shelfPage([[10, false]], 5, null),
  ];
  expect(await lieIn(shelfPages(await clientOf(twice)))).toBe('out_of_order');
  const again = [
    pinned,
    shelfPage(
      [
        [9, false],
        [3, true],
      ],
      5,
      'b',
    ),
  ];
  expect(await lieIn(shelfPages(await clientOf(again)))).toBe('repeated_row');
  const stuck = [
    pinned,
    shelfPage(
      [
        [9, false],
        [7, false],
      ],
      5,
      'a',
    ),
  ];
  expect(await lieIn(shelfPages(await clientOf(stuck)))).toBe('repeated_cursor');
});

test('a search takes every filter of the route, spelled as the route reads it', async () => {
  type Filter = Exclude<keyof QueryGiven<Endpoints['browseShelves']>, 'cursor' | 'fields'>;
  const all: Record<Filter, unknown> & Required<ShelfFilters> = {
    ...{ q: 'a b', tag: 't', aisle: 'other', license: 'MIT', seller: 'ada', free: false, max_price_usdc: 0.000001 },
    ...{ verified_sales_min: 2, match: 'all', sort: 'new', limit: 2 },
  };
  await idsOf(shelfPages(await clientOf([shelfPage([], 0, null)]), all));
  const query = Object.fromEntries(new URL(market?.seen[0]?.path ?? '', 'http://market').searchParams);
  const spelled = Object.entries({ ...all, max_price_usdc: '0.000001' }).map(([name, value]) => [name, String(value)]);
  expect(query).toEqual(Object.fromEntries(spelled));
  expect(browseShelves.query.safeParse(query).success).toBe(true);
  expect(() => shelfPages(createClient({ baseUrl: 'http://m' }), { max_price_usdc: 0.1234567 })).toThrow(TypeError);
});

test('a page of a search says how its words were searched; an earlier market says nothing', async () => {
  const report = (listings: number) => ({
    words: [{ word: 'finalty', listings, used_as: 'finality' }],
    ...{ ignored: ['the'], missing: [], matched: 'all' as const },
  });
  const [first, second]: [number, boolean][][] = [
    [
      [9, false],
      [8, false],
    ],
    [[7, false]],
  ];
  const pages = [
    shelfPage(first ?? [], 3, 'a', { search: report(3) }),
    shelfPage(second ?? [], 3, null, { search: report(2) }),
  ];
  const read = async (bodies: object[]) => {
    const seen: unknown[] = [];
    for await (const { search } of shelfPages(await clientOf(bodies), { q: 'the finalty', limit: 2 }))
      seen.push(search);
    return seen;
  };
  expect(await read(pages)).toEqual([report(3), report(2)]);
  expect(await read([shelfPage(second ?? [], 1, null)])).toEqual([null]);
});

test('a search is sorted by relevance unless it is told otherwise, and may come in any order', async () => {
  const rows: [number, boolean][] = [
    [2, false],
    [9, true],
  ];
  expect(await idsOf(shelfPages(await clientOf([shelfPage(rows, 2, null)]), { q: 'a' }))).toEqual([2, 9]);
  const risen: [number, boolean][] = [
    [2, false],
    [8, false],
    [9, true],
  ];
  const page = [shelfPage(risen, 3, null, { page_size: 3 })];
  expect(await lieIn(shelfPages(await clientOf(page), { q: 'a', sort: 'new' }))).toBe('out_of_order');
});

test('listings sold under the walk do not make it a lie', async () => {
  const sold = [
    shelfPage(
      [
        [9, false],
        [8, false],
      ],
      5,
      'a',
    ),
    shelfPage([[4, false]], 3, null),
  ];
  expect(await idsOf(shelfPages(await clientOf(sold)))).toEqual([9, 8, 4]);
});

test('merchants who join under the walk are left to the next one; unannounced ones are a lie', async () => {
  const growing = [merchantPage([1, 2], 3, true), merchantPage([3, 4], 5, true)];
  const client = await clientOf(growing);
  expect(await idsOf(merchantPages(client))).toEqual([1, 2, 3]);
  expect(market?.seen.map((request) => request.path)).toEqual(['/api/merchants', '/api/merchants?after_id=2']);
  const unannounced = [merchantPage([1, 2], 3, true), merchantPage([3, 4], 3, false)];
  expect(await lieIn(merchantPages(await clientOf(unannounced)))).toBe('more_than_total');
  expect(await lieIn(merchantPages(await clientOf([merchantPage([2, 1], 3, true)])))).toBe('out_of_order');
});

test('a store is one page without a limit, and pages with one', async () => {
  const store = (ids: number[], total: number, size: number) => ({
    merchant: merchantRecord(1),
    listings: ids.map((id) => listingSummary(id)),
    ...counts(ids, total, total > ids.length && ids.at(-1) !== 1),
    page_size: size,
    next_before_id: total > ids.length && ids.at(-1) !== 1 ? (ids.at(-1) ?? 1) : null,
  });
  expect(await idsOf(storePages(await clientOf([store([3, 2, 1], 3, 3)]), 'ada'))).toEqual([3, 2, 1]);
  const paged = await clientOf([store([3, 2], 3, 2), store([1], 3, 2)]);
  expect(await idsOf(storePages(paged, 'ada', { limit: 2 }))).toEqual([3, 2, 1]);
  expect(market?.seen[1]?.path).toBe('/api/store/ada?limit=2&before_id=2');
});

test('purchases and treasury are read by the same rules', async () => {
  const purchase = (id: number) => ({
    ...{
      id,
      listing_id: 7,
      title: 't',
      seller: 'ada',
      price_usdc: 1,
      paid_usdc: 1,
      tx_hash: null,
      verified_via: 'free',
    },
    ...{ block_number: null, created_at: AT, delivery_kind: 'artifact', artifact: 'a', artifact_encoding: 'utf-8' },
    ...{ artifact_media_type: 'text/plain', artifact_filename: null, artifact_salt: null, collect: 'delivered' },
    ...{ world_receipt: null, newer_version: null },
  });
  const bought = { purchases: [purchase(4), purchase(2)], ...counts([4, 2], 3, true), next_before_id: 2 };
  const last = { purchases: [purchase(1)], ...counts([1], 3, false), next_before_id: null };
  expect(await idsOf(purchasePages(await clientOf([bought, last])))).toEqual([4, 2, 1]);
  expect(market?.seen[0]?.headers.authorization).toBe('Bearer k');

  const fee = (id: number) => ({
    ...{ id, listing_id: null, merchant: 'ada', amount_usdc: 1, tx_hash: `0x${'0'.repeat(64)}`, verified_via: 'x402' },
    ...{ block_time: AT, created_at: AT },
  });
  const books = (ids: number[], more: boolean) => ({
    ...{ address: TREASURY, network: 'base', recent_fees: ids.map(fee), fees_count: 3, fees_returned: ids.length },
    ...{ fees_page_size: 2, fees_has_more: more, fees_next_before_id: more ? (ids.at(-1) ?? null) : null },
    ...{ fees_collected_usdc: 3, usdc_balance_onchain: null },
  });
  expect(await idsOf(treasuryPages(await clientOf([books([6, 5], true), books([2], false)])))).toEqual([6, 5, 2]);
  expect(market?.seen[0]?.headers.authorization).toBeUndefined();
  expect(await lieIn(treasuryPages(await clientOf([books([6, 5], false)])))).toBe('wrong_total');
});
