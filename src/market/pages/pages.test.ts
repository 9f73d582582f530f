import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { createTestDatabase, severableDatabase, testDatabase } from '../../../test/support/database.ts';
import { marketContext, settableClock, type TestMarket } from '../../../test/support/market-context.ts';
import { seedEvent, seedMerchant } from '../../../test/support/seed.ts';
import { REASONS } from '../../contract/errors.ts';
import { endpoints } from '../../contract/index.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { STREAM_PATH } from '../events/stream/mount-event-stream.ts';
import { completeFee } from '../listings/fees/complete-fee.ts';
import { createPayments } from '../payments/payments.ts';
import { completePurchase } from '../purchases/complete-purchase.ts';
import { createThingFees } from '../world/drafts/list-world.ts';
import { createPages } from './create-pages.ts';
import { STOREFRONT_PATHS } from './storefront/create-storefront.ts';
import { frontAnswer } from './storefront/front-page.ts';
import { referenceFiles } from './write-reference.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
const NOW_MS = Date.UTC(2026, 0, 6);
const db = testDatabase({ inventedEvents: true });
const market = (): TestMarket => marketContext({ database: db.database, clock: settableClock(NOW_MS) });
/** Shared by tests that only read. Created on first use, because the test database must exist by then. */
let shared: TestMarket | null = null;
const sharedMarket = (): TestMarket => (shared ??= market());

const pagesByMarket = new WeakMap<TestMarket, ReturnType<typeof createPages>>();
function pagesOf(on: TestMarket): ReturnType<typeof createPages> {
  const existing = pagesByMarket.get(on);
  if (existing !== undefined) return existing;
  const completions = { purchase: completePurchase(on), listing_fee: completeFee(on, createThingFees(on)) };
  const payments = createPayments(on, completions, { reconcileEveryMs: 1_000, watchEveryMs: 1_000, longestPauseMs: 0 });
  const status = () => ({ history: 'whole', log_copy: 'kept' }) as const;
  const history = { isLost: () => false, status };
  const pages = createPages(on, {
    ...on,
    payments,
    history,
    front: (call) => frontAnswer(on.config, on.events, call),
  });
  pagesByMarket.set(on, pages);
  return pages;
}

function matchPath(pattern: string, path: string): Record<string, string> | null {
  const steps = path.split('/');
  const names = pattern.split('/');
  if (steps.length !== names.length) return null;
  const params: Record<string, string> = {};
  for (const [at, name] of names.entries()) {
    if (name.startsWith(':')) params[name.slice(1)] = steps[at] ?? '';
    else if (name !== steps[at]) return null;
  }
  return params;
}

async function open(address: string, accept?: string, on = sharedMarket()): Promise<PageAnswer & { text: string }> {
  const { pathname: path, searchParams } = new URL(address, 'http://market');
  const query = Object.fromEntries(searchParams);
  // The latest events come from memory, which no job updates here.
  if (path === '/') await on.catalog.fresh();
  for (const page of pagesOf(on)) {
    const params = matchPath(page.path, path);
    if (params === null || page.method !== 'GET') continue;
    const signal = new AbortController().signal;
    const call = { params, query, accept, cookies: {}, path, requestId: 'r', clientNetwork: 'n', signal };
    const answer = await page.handler(call);
    return {
      ...answer,
      text: typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString('utf8'),
    };
  }
  throw new Error(`no page at ${address}`);
}

/** Finds all paths in a text: links, and paths in backticks, alone or after a method. */
function addressesIn(text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)]+)\)|href="([^"]+)"/g)].map((match) => match[1] ?? match[2] ?? '');
  const quoted = [...text.matchAll(/[`>](?:(?:GET|POST) )?(\/[a-z][^`<]*)[`<]/g)].map((match) => match[1] ?? '');
  return [...links, ...quoted]
    .filter((address) => !address.startsWith('#'))
    .map((address) => address.replace('http://127.0.0.1:4020', '').replace(/[?#].*$/, ''));
}

describe('the front door', () => {
  it('is text for programs, HTML for browsers, and JSON for who asks for it', async () => {
    const types: [string | undefined, string][] = [
      [undefined, 'text/plain; charset=utf-8'],
      ['*/*', 'text/plain; charset=utf-8'],
      ['text/markdown', 'text/plain; charset=utf-8'],
      ['image/png', 'text/plain; charset=utf-8'],
      [BROWSER, 'text/html; charset=utf-8'],
      ['application/json', 'application/json; charset=utf-8'],
      ['application/json, text/plain, */*', 'application/json; charset=utf-8'],
    ];
    for (const [accept, type] of types) {
      const { headers } = await open('/', accept);
      expect([accept, headers['content-type']]).toEqual([accept, type]);
      expect(headers['vary']).toBe('accept');
    }
  });

  it('says in JSON what each endpoint wants of a key, in words', async () => {
    const { endpoints: listed } = JSON.parse((await open('/', 'application/json')).text);
    expect(listed).toContainEqual(expect.objectContaining({ path: '/api/official', key: 'open, never reads a key' }));
    expect(listed).toContainEqual(expect.objectContaining({ path: '/api/me', key: 'needs your key' }));
  });

  it('ends with the five newest events of the door and their exact total', async () => {
    const empty = await open('/');
    expect(empty.text).toContain('showing 0 of 0');
    expect(empty.text).toContain('The listing fee is 1 USDC by x402');
    expect(empty.text).toContain('What costs less than 0.001 USDC is bought by a transfer');
    for (let id = 1; id <= 7; id += 1)
      await seedEvent(db.database, id === 3 ? 'rotate' : 'sale', { listing_id: id }, 'alice');
    const { text } = await open('/');
    expect(text).toContain('showing 5 of 6');
    const lines = text.trimEnd().split('\n').slice(-5);
    expect(lines.map((line) => /`sale` by alice, \[listing (\d+)\]\(\/api\/listing\/\d+\)$/.exec(line)?.[1])).toEqual([
      '7',
      '6',
      '5',
      '4',
      '2',
    ]);
    const json = JSON.parse((await open('/', 'application/json')).text);
    expect(json.activity.showing).toBe('showing 5 of 6');
    expect(json.activity.events).toHaveLength(5);
    expect(json.endpoints).toHaveLength(Object.keys(endpoints).length);
  });

  it('keeps within 36 KiB in every form', async () => {
    for (const accept of [undefined, BROWSER, 'application/json']) {
      expect(Buffer.byteLength((await open('/', accept)).text)).toBeLessThanOrEqual(36 * 1024);
    }
  });

  it('is the same bytes as long as nothing happens, so that its ETag holds', async () => {
    expect((await open('/', BROWSER)).text).toBe((await open('/', BROWSER)).text);
  });

  it('lets the browser run and load nothing but the files of the shell', async () => {
    const { headers, text } = await open('/', BROWSER);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; script-src 'self'",
    );
    expect(text).not.toMatch(/<img|<iframe|<style| style="/);
    const loaded = [...text.matchAll(/<(?:script src|link rel="[a-z]+" href)="([^"]+)"/g)].map(
      ([, address]) => address,
    );
    expect(loaded.length).toBeGreaterThan(3);
    for (const address of loaded) expect((await open(address ?? '')).status).toBe(200);
  });

  it('does not offer to register while that door is closed', async () => {
    const closed = { ...market(), config: { ...market().config, openIdentityEndpoints: new Set<never>() } };
    expect((await open('/', undefined, closed)).text).toContain('Registration is closed');
  });
});

it('offers only addresses that exist, on every page', async () => {
  const paths = ['/', '/llms.txt', '/help', '/docs/errors', ...REASONS.map((reason) => `/docs/errors/${reason}`)];
  const seen = new Set<string>();
  for (const path of paths) {
    for (const accept of [undefined, BROWSER]) {
      for (const address of addressesIn((await open(path, accept)).text)) seen.add(address);
    }
  }
  expect(seen.size).toBeGreaterThan(REASONS.length);
  const known = [...pagesOf(market()), ...Object.values(endpoints)]
    .map(({ path }) => path)
    .concat(STOREFRONT_PATHS, STREAM_PATH);
  const lost = [...seen].filter(
    (address) => !known.some((pattern) => matchPath(pattern, address) !== null || pattern === address),
  );
  expect(lost).toEqual([]);
  for (const address of seen) {
    if (address.startsWith('/docs/errors/')) expect((await open(address)).status).toBe(200);
  }
});

describe('the pages of refusals', () => {
  it('explain every reason of the table, in three forms', async () => {
    const index = await open('/docs/errors');
    for (const reason of REASONS) {
      expect(index.text).toContain(`[${reason}](/docs/errors/${reason})`);
      const json = JSON.parse((await open(`/docs/errors/${reason}`, 'application/json')).text);
      expect((await open(`/docs/errors/${reason}`)).text).toContain(json.next_step);
      expect((await open(`/docs/errors/${reason}`, BROWSER)).text).toContain(`<h1>${reason}</h1>`);
    }
    const { text } = await open('/docs/errors/sign_to_collect', BROWSER);
    expect(text).toContain('<a href="/">');
    expect(text).not.toContain('do not sign');
  });

  it('answer 404 for what is no reason, also for names that every object has', async () => {
    for (const reason of ['nothing', 'constructor', '__proto__', 'toString', '']) {
      expect(await reasonOf(open(`/docs/errors/${reason}`))).toBe('not_found');
    }
  });
});

it('describes every endpoint of the contract in /openapi.json', async () => {
  const { headers, text } = await open('/openapi.json');
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  const { openapi, servers, paths } = JSON.parse(text);
  expect(openapi).toBe('3.1.0');
  expect(servers).toMatchObject([{ url: 'http://127.0.0.1:4020' }]);
  const named = Object.values<Record<string, { operationId: string }>>(paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(new Set(named)).toEqual(new Set([...Object.keys(endpoints), 'streamEvents']));
});

it('generates a reference that holds every reason', () => {
  const files = referenceFiles();
  for (const reason of REASONS) expect(files.get('errors.md')).toContain(`## ${reason}\n`);
  expect(JSON.parse(files.get('openapi.json') ?? '')).toMatchObject({ openapi: '3.1.0' });
});

describe('health', () => {
  const ready = async (on: TestMarket = market()) => {
    const { status, text } = await open('/readyz', undefined, on);
    return { status, body: JSON.parse(text) };
  };

  it('is alive whatever the database does', async () => {
    expect(await open('/healthz')).toMatchObject({ status: 200 });
  });

  it('is ready once the tables are there, and says how the payments stand', async () => {
    expect(await ready()).toEqual({
      status: 200,
      body: {
        status: 'ready',
        database: 'reachable',
        migrations: 'complete',
        writes: 'accepted',
        history: 'whole',
        log_copy: 'kept',
        // No chain answers at the market's RPC address.
        payments: 'halted',
        why: 'chain_unreadable',
        finality: null,
        providers: [
          { provider: 1, head_number: null, head_age_seconds: null, answer_age_seconds: null, left_out: null },
        ],
        payments_held: { silent: 0, behind: 0, disagrees: 0, use_without_transfer: 0 },
        payments_unreadable: 0,
        contract_wallets: 'unknown',
        facilitator_signers: 'unknown',
        finalized_watermark: null,
        oldest_unnumbered_event_ms: null,
        catalog: 'current',
        search: 'preparing',
      },
    });
    // Block times are whole seconds.
    const at = new Date(Math.floor((NOW_MS - 61_000) / 1_000) * 1_000);
    await db.database.run(sql`
      insert into facilitator_readings (chain_id, url, read_at, published)
      values (8453, ${market().config.facilitatorUrl}, ${at}, 1)`);
    await db.database.run(sql`
      insert into chain_watermarks (chain_id, block_number, block_hash, block_time, accepted_at)
      values (8453, 77, ${Buffer.alloc(32, 1)}, ${at}, ${at})`);
    expect((await ready()).body).toMatchObject({
      facilitator_signers: 'published',
      finalized_watermark: { block_number: 77, age_seconds: 61 },
    });
  });

  it('is not ready without the tables', async () => {
    const { database, drop } = await createTestDatabase({ migrated: false });
    expect(await ready(marketContext({ database }))).toMatchObject({ status: 503, body: { migrations: 'incomplete' } });
    await drop();
  });

  it('is not ready while the database does not answer', async () => {
    await seedMerchant(db.database);
    const severable = await severableDatabase(db.url);
    await severable.sever();
    expect(await ready(marketContext({ database: severable.database }))).toEqual({
      status: 503,
      body: { status: 'not_ready', database: 'unreachable' },
    });
    await severable.close();
  });

  it('can answer reads while the database does not answer, from what it knows, once it knows it', async () => {
    const readsReady = async (on: TestMarket) => {
      const { status, text } = await open('/readyz?reads', undefined, on);
      return { status, body: JSON.parse(text) };
    };
    const severable = await severableDatabase(db.url);
    const on = marketContext({ database: severable.database, clock: settableClock(Date.UTC(2026, 0, 6)) });
    expect(await readsReady(on)).toEqual({ status: 503, body: { status: 'not_ready', reads: 'preparing' } });
    await on.catalog.fresh();
    await severable.sever();
    expect(await ready(on)).toMatchObject({ status: 503, body: { database: 'unreachable' } });
    expect(await readsReady(on)).toMatchObject({
      status: 200,
      body: { status: 'ready', reads: 'answered', catalog: 'current', catalog_age_seconds: 0 },
    });
    await on.catalog.stop();
    await severable.close();
  });
});
