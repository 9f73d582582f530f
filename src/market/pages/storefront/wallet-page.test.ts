import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { marketContext, settableClock } from '../../../../test/support/market-context.ts';
import { readMarkup, skeletonOf } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { removeListing, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { SHELL } from '../shell/assets.ts';
import { walletUseOf } from './how-to-buy.ts';

const NOON = Date.UTC(2026, 0, 6, 12, 0, 0);
const EXPLORER = 'https://explorer.example';

let test: TestDatabase & { drop(): Promise<void> };
let running: RunningMarket;
let url = '';
let merchant = 0n;

beforeAll(async () => {
  test = await createTestDatabase();
  const { database } = test;
  const clock = settableClock(NOON);
  const { config, pepper, random } = marketContext({ database, clock });
  const { log } = recordingLog();
  running = createMarket({ config: { ...config, explorerUrl: EXPLORER }, database, clock, log, pepper, random });
  merchant = (await seedMerchant(database, { handle: 'ink' })).id;
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function list(given: Parameters<typeof seedListing>[2]): Promise<bigint> {
  const { id } = await seedListing(test.database, merchant, given);
  await running.eventsSettled();
  return id;
}

async function open(path: string, method = 'GET') {
  const answer = await fetch(`${url}${path}`, { method, headers: { accept: 'text/html' } });
  const body = await answer.text();
  return { status: answer.status, headers: answer.headers, body, ...readMarkup(body) };
}

const dealIn = ({ tags }: ReturnType<typeof readMarkup>): Record<string, unknown> | null => {
  const deal = tags.find(({ attributes }) => attributes.get('id') === 'flow')?.attributes.get('data-deal');
  return deal === undefined ? null : JSON.parse(deal);
};

it('carries what the route answers of the goods, and where to look transactions up', async () => {
  const id = await list({ title: 'Reading of invoices', priceUnits: 4_000_000n });
  const page = await open(`/listing/${id}/buy`);
  const { listing } = (await (await fetch(`${url}/api/listing/${id}`)).json()) as { listing: Record<string, unknown> };
  const { title, price_usdc, seller_wallet, artifact_commitment } = listing;
  expect(dealIn(page)).toMatchObject({ title, price_usdc, seller_wallet, artifact_commitment, merchant: 'ink' });
  expect(dealIn(page)).toMatchObject({ id: Number(id), state: 'live', network: 'base', explorer_url: EXPLORER });
  expect(page.text).toContain('4.00 USDC');
  expect(page.text).toContain('This page needs its script');
});

it('is never stored, runs scripts by nonce alone, asks this market alone, and shows pictures that wallets bring', async () => {
  const id = await list({});
  const [one, other] = [await open(`/listing/${id}/buy`), await open(`/listing/${id}/buy`)];
  const policy = one.headers.get('content-security-policy') ?? '';
  expect(one.headers.get('cache-control')).toBe('private, no-store');
  expect(one.headers.get('etag')).toBeNull();
  expect(policy).not.toBe(other.headers.get('content-security-policy'));
  const nonce = /script-src 'nonce-([\w-]{24})'/.exec(policy)?.[1];
  for (const part of ["default-src 'none'", "connect-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'"]) {
    expect(policy.split('; ')).toContain(part);
  }
  const scripts = one.tags
    .filter(({ name, attributes }) => name === 'script' && attributes.size > 0)
    .map(({ attributes }) => attributes);
  expect(one.body.match(/<script/g)).toHaveLength(scripts.length);
  expect(scripts.map((attributes) => attributes.get('src'))).toContain(SHELL.walletFlow.path);
  for (const attributes of scripts) expect([attributes.get('nonce'), attributes.has('src')]).toEqual([nonce, true]);
  expect((await open(`/listing/${id}/buy`, 'HEAD')).status).toBe(200);
});

it('is linked from the listing as the first way, only where it works', async () => {
  const cases: [bigint, string | null][] = [
    [0n, 'Get it'],
    [999n, null],
    [1_000n, 'Buy with a wallet'],
    [4_000_000n, 'Buy with a wallet'],
  ];
  for (const [priceUnits, words] of cases) {
    const id = await list({ priceUnits });
    const { body, text } = await open(`/listing/${id}`);
    expect([priceUnits, body.includes(`href="/listing/${id}/buy"`)]).toEqual([priceUnits, words !== null]);
    if (words !== null) expect(text.indexOf(words)).toBeLessThan(text.indexOf('over MCP'));
  }
  const gone = await list({});
  await removeListing(test.database, gone);
  await running.eventsSettled();
  expect((await open(`/listing/${gone}`)).body).not.toContain(`/listing/${gone}/buy`);
});

it('says what to do instead where no wallet can buy', async () => {
  const small = await open(`/listing/${await list({ priceUnits: 500n })}/buy`);
  expect([small.status, dealIn(small)]).toEqual([200, null]);
  expect(small.text).toContain('Too small for this way of paying');
  const limits = { x402_floor_units: 1_000 };
  expect(walletUseOf({ delivery_kind: 'city_ownership', price_usdc: 4 }, limits)).toBe('thing');
  expect(walletUseOf({ delivery_kind: 'artifact', price_usdc: 0.000_999 }, limits)).toBe('too_small');
  const unknown = await open('/listing/999999/buy');
  expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect((await open('/listing/x/buy')).status).toBeGreaterThanOrEqual(400);
});

it('still opens for what was removed or withdrawn, for those who have bought it', async () => {
  const id = await list({});
  await removeListing(test.database, id);
  await running.eventsSettled();
  const page = await open(`/listing/${id}/buy`);
  expect([page.status, dealIn(page)?.['state']]).toEqual([200, 'removed']);
});

it('hostile titles stay text, in the page and in what the script reads', async () => {
  const { body: plain } = await open(`/listing/${await list({ title: 'plain' })}/buy`);
  const shape = (text: string): string[] => skeletonOf(readMarkup(text).tags);
  for (const title of HOSTILE_TEXTS) {
    const page = await open(`/listing/${await list({ title: title.slice(0, 120) })}/buy`);
    expect([title, shape(page.body)]).toEqual([title, shape(plain)]);
    expect(dealIn(page)?.['price_usdc']).toBe(2.5);
  }
});
