import { type IncomingHttpHeaders, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import { TEST_PEPPER, worldConfig } from '../support/market-world.ts';
import { recordingLog } from '../support/recording-log.ts';
import { editListing, seedEvent, seedStock, seedVote, withdrawListing } from '../support/seed.ts';
import { memoryAnswer } from './ask.ts';
import { openStage, processOn, type Stage } from './stage.ts';

/** A whole market behind its socket, but without chain and facilitator, since reads need neither. */
const db = testDatabase({ inventedEvents: true });
// Cursors contain the minute, which must not change in the middle of a test.
const clock = settableClock(Date.UTC(2026, 0, 6, 0, 0, 10));
const NOWHERE = 'http://127.0.0.1:1';
let stage: Stage;
let ids: bigint[];
let running: RunningMarket;
let port = 0;

beforeAll(async () => {
  const { database, url } = db;
  stage = await openStage(database);
  const stock = Array.from({ length: 75 }, (_, at) => ({
    title: `Lamp ${at} \u5730`,
    aisle: at % 2 === 0 ? ('data' as const) : ('tools' as const),
    priceUnits: BigInt(at) * 10_000n,
  }));
  ids = await seedStock(database, stage.sellers[0] ?? 0n, stock);
  await seedStock(
    database,
    stage.sellers[1] ?? 0n,
    Array.from({ length: 501 }, (_, at) => ({ title: `Many ${at}`, aisle: 'other' })),
  );
  await seedEvent(database, 'sale', { listing_id: 1 });
  running = createMarket({
    config: worldConfig({ databaseUrl: url, rpcUrl: NOWHERE, facilitatorUrl: NOWHERE }),
    database,
    clock,
    random: systemRandom,
    log: recordingLog().log,
    pepper: TEST_PEPPER,
    reconcileEveryMs: 60_000,
  });
  ({ port } = await running.start());
  await running.eventsSettled();
});
afterAll(() => running?.stop({ drainMs: 1_000 }));

interface Got {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Returns the response with its bytes as sent, still compressed. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

const GZIP = { 'accept-encoding': 'gzip' };
const QUICK = [
  '/api/shelves',
  '/api/shelves?limit=7',
  '/api/shelves?sort=price_asc&aisle=data',
  '/api/shelves?fields=outline',
  '/api/shelves?q=lamp&limit=3',
  '/api/shelves?q=nowhere-at-all',
  '/api/merchants',
  '/api/window',
  '/api/store/lamp-house?limit=20',
  '/',
];
const detail = (): string => `/api/listing/${ids[0]}`;

async function all(): Promise<string[]> {
  const first = JSON.parse((await get('/api/shelves?limit=7')).body.toString());
  const cursor = `/api/shelves?limit=7&cursor=${first.next_cursor}`;
  const long = ['/api/merchants?limit=2', '/api/store/lamp-house', `/api/listing/${ids[0]}?comments_limit=5`];
  return [...QUICK, detail(), cursor, ...long];
}

/** Returns the headers that must be equal for equal bytes, without request id and date. */
function stableHeaders({ headers }: Got): IncomingHttpHeaders {
  const { 'x-request-id': _id, date: _date, ...rest } = headers;
  return rest;
}

/** Checks that conditional requests with this tag are answered correctly in every form. */
async function checkTag(path: string, got: Got, headers: Record<string, string>): Promise<void> {
  const { etag = '' } = got.headers;
  expect(etag, path).toMatch(/^"[\w.-]+"$/);
  expect(Number(got.headers['content-length']), path).toBe(got.body.length);
  for (const tag of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
    const again = await get(path, { ...headers, 'if-none-match': tag });
    expect(again.status, `${path} if-none-match ${tag}`).toBe(304);
    expect(again.body.length, path).toBe(0);
    if (tag !== '*') expect(again.headers.etag, path).toBe(etag);
    expect(again.headers['cache-control'], path).toBe(got.headers['cache-control']);
  }
  expect((await get(path, { ...headers, 'if-none-match': '"another"' })).status, path).toBe(200);
}

it('every read comes plain and in gzip as the same bytes, each with a tag of its own, and 304 by either', async () => {
  for (const path of await all()) {
    const plain = await get(path);
    const packed = await get(path, GZIP);
    expect(plain.status, path).toBe(200);
    expect(plain.headers['content-encoding'], path).toBeUndefined();
    expect(plain.headers['cache-control'], path).toBe('public, max-age=1, stale-while-revalidate=5');
    expect(plain.headers['access-control-allow-origin'], path).toBe('*');
    await checkTag(path, plain, {});
    await checkTag(path, packed, GZIP);
    const isPacked = packed.headers['content-encoding'] === 'gzip';
    if (QUICK.includes(path)) expect(isPacked, path).toBe(true);
    expect(isPacked ? gunzipSync(packed.body) : packed.body, path).toEqual(plain.body);
    expect(packed.headers.etag !== plain.headers.etag, path).toBe(isPacked);
    if (!isPacked) continue;
    for (const got of [plain, packed]) expect(got.headers.vary, path).toContain('accept-encoding');
  }
});

it('HEAD says what GET says, without the body, plain and in gzip', async () => {
  for (const path of [...(await all()), '/api/store/red-atlas']) {
    for (const headers of [{}, GZIP]) {
      const got = await get(path, headers);
      const head = await get(path, headers, 'HEAD');
      expect(head.status, path).toBe(200);
      expect(head.body.length, path).toBe(0);
      const { 'transfer-encoding': _sent, ...expected } = stableHeaders(got);
      const { 'transfer-encoding': _none, ...said } = stableHeaders(head);
      expect(said, path).toEqual(expected);
    }
  }
});

/** Returns whether the page changed, and checks that it changed exactly where it shows the listing. */
async function checkChange(path: string, id: bigint, old: Got, now: Got): Promise<boolean> {
  const isSame = old.body.equals(now.body);
  expect(old.headers.etag === now.headers.etag, path).toBe(isSame);
  const holds = [`"id":${id},"title":"Lamp`, `/api/buy/${id} `].some((text) => now.body.includes(text));
  // Outlines show only titles, which stay the same. A cursor by relevance contains the last edit of any listing.
  const shows = holds && !path.includes('outline');
  if (!path.includes('q=lamp')) expect(isSame, `${path} after a change of ${id}`).toBe(!shows);
  const conditional = await get(path, { 'if-none-match': old.headers.etag ?? '' });
  expect(conditional.status, path).toBe(isSame ? 304 : 200);
  return !isSame;
}

it('a changed listing changes the tags of the pages it is on and of no other page', async () => {
  const { database } = db;
  const addresses = [...(await all()), `/api/listing/${ids[1]}`, '/api/store/red-atlas?limit=5'];
  const look = (): Promise<Got[]> => Promise.all(addresses.map((path) => get(path)));
  const [first = 0n, last = 0n] = [ids[0], ids[74]];
  const changes: [bigint, () => Promise<void>][] = [
    [first, () => seedVote(database, first, stage.voters[0] ?? 0n)],
    [first, () => editListing(database, first, { description: 'Something else' })],
    [last, () => seedVote(database, last, stage.voters[0] ?? 0n)],
    [last, () => editListing(database, last, { preview: 'Another look' })],
  ];
  for (const [id, change] of changes) {
    const before = await look();
    await change();
    await running.eventsSettled();
    // After this time, no cached shelf page is older than the change.
    clock.set(clock.now() + 100);
    const after = await look();
    let moved = 0;
    for (const [at, path] of addresses.entries()) {
      const [old, now] = [before[at], after[at]];
      if (old === undefined || now === undefined) throw new Error('it was looked at');
      if (await checkChange(path, id, old, now)) moved += 1;
    }
    expect(moved).toBeGreaterThan(2);
    expect(moved).toBeLessThan(addresses.length);
  }
});

it('the bytes of a page are kept as long as nothing on it changes', async () => {
  const market = processOn(db.database, { clock: settableClock(Date.UTC(2026, 0, 6)) });
  await market.catalog.fresh();
  await market.catalog.searchable();
  const bytesOf = (path: string, gzip: boolean): Uint8Array => {
    const answer = memoryAnswer(market, path, gzip);
    if (answer === null) throw new Error('it is in memory');
    answer.release?.();
    return answer.body;
  };
  for (const gzip of [false, true]) {
    const [data, tools] = ['/api/shelves?aisle=data', '/api/shelves?aisle=tools'];
    const before = { data: bytesOf(data, gzip), tools: bytesOf(tools, gzip) };
    await seedVote(db.database, ids[72] ?? 0n, stage.voters[gzip ? 1 : 2] ?? 0n);
    await market.catalog.fresh();
    expect(bytesOf(tools, gzip)).toBe(before.tools);
    expect(bytesOf(data, gzip)).not.toBe(before.data);
    expect(bytesOf(data, gzip)).toBe(bytesOf(data, gzip));
  }
});

it('pages that many ask for at once, packed or not, of any kind, are whole for each of them while listings change', async () => {
  const paths = await all();
  let stop = false;
  const writer = (async () => {
    for (let count = 0; !stop; count += 1) {
      const id = ids[(count * 7) % 70] ?? 0n;
      await editListing(db.database, id, { description: `Round ${count} ${'x'.repeat(count % 300)}` });
      await running.eventsSettled();
    }
  })();
  const reader = async (from: number): Promise<void> => {
    for (let count = 0; count < 60; count += 1) {
      const path = paths[(from + count) % paths.length] ?? '';
      const got = await get(path, count % 2 === 0 ? GZIP : {});
      expect(got.status, path).toBe(200);
      const body = got.headers['content-encoding'] === 'gzip' ? gunzipSync(got.body) : got.body;
      if (path === '/') continue;
      const page = JSON.parse(body.toString('utf8'));
      const rows = page.listings?.items ?? page.listings ?? [];
      expect(page.returned ?? rows.length, path).toBe(page.merchants?.length ?? rows.length);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, at) => reader(at * 3)));
  stop = true;
  await writer;
});

it('what is withdrawn is gone from the next page of every reader', async () => {
  const id = ids[70] ?? 0n;
  expect((await get('/api/shelves')).body.toString()).not.toContain('"returned":0');
  await withdrawListing(db.database, id);
  await running.eventsSettled();
  for (const path of ['/api/shelves?aisle=data', '/api/store/lamp-house', '/api/shelves?q=lamp']) {
    expect((await get(path)).body.toString(), path).not.toContain(`{"id":${id},`);
  }
});
