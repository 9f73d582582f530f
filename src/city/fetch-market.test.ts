import type { ServerResponse } from 'node:http';
import { afterAll, beforeEach, expect, it, test } from 'vitest';
import { reasonOf } from '../../test/support/ask.ts';
import { cityConfig } from '../../test/support/city-context.ts';
import { recordingLog } from '../../test/support/recording-log.ts';
import { type CityReply, sendJson, startScriptedCity } from '../../test/support/scripted-city.ts';
import { SITE_ANSWER_LIMIT_BYTES } from '../contract/vocabulary.ts';
import type { CheckoutOut, DraftOut } from '../contract/world-records.ts';
import { readCheckout, readDraft, readMerchant } from './fetch-market.ts';

// A scripted city can stand in for a market, because it only maps paths to answers.
const market = await startScriptedCity();
const elsewhere = await startScriptedCity();
afterAll(async () => {
  await market.close();
  await elsewhere.close();
});
beforeEach(() => market.answerAll(null));

const { log, lines } = recordingLog();
const city = { config: cityConfig({ marketUrl: market.url }), log };
const AT = '2026-01-05T12:00:00.000Z';
const draft: DraftOut = {
  id: 7,
  seller: 'seller-one',
  title: 'A lamp',
  description: 'It shines.',
  preview: '',
  price_usdc: 2.5,
  seller_wallet: `0x${'ab'.repeat(20)}`,
  tags: ['lamp'],
  keywords: [],
  thing_id: 9,
  state: 'pending',
  listing_id: null,
  created_at: AT,
  expires_at: AT,
};
const checkout: CheckoutOut = {
  id: 7,
  listing_id: 3,
  market_buyer: 'buyer-one',
  city_handle: 'ada',
  city_offer_id: 4,
  state: 'open',
  created_at: AT,
  expires_at: AT,
};
const read = () => readDraft(city, 7n);

it('what the market says is read, whatever else it says; and that there is no such thing', async () => {
  market.answer('/api/world/draft/7', { draft: { ...draft, mood: 'good' }, weather: 'fine' });
  market.answer('/api/world/checkout/7', { checkout });
  market.answer('/api/store/seller-one?limit=1', { merchant: { handle: 'seller-one', city_handle: null, id: 1 } });
  expect(await read()).toEqual(draft);
  expect(await readCheckout(city, 7n)).toEqual(checkout);
  expect(await readMerchant(city, 'seller-one')).toEqual({ handle: 'seller-one', city_handle: null });
  expect([await readDraft(city, 8n), await readCheckout(city, 8n), await readMerchant(city, 'unknown')]).toEqual([
    null,
    null,
    null,
  ]);
});

it('it is asked by GET, without a key and without a cookie', async () => {
  const seen = Promise.withResolvers<{ method: string | undefined; headers: object }>();
  market.answer('/api/world/draft/7', (response) => {
    seen.resolve({ method: response.req.method, headers: response.req.headers });
    sendJson(response, 200, { draft });
  });
  await read();
  const { method, headers } = await seen.promise;
  expect(method).toBe('GET');
  expect(headers).not.toHaveProperty('authorization');
  expect(headers).not.toHaveProperty('cookie');
});

const sized = (length: number) => ({ draft: { ...draft, padding: 'x'.repeat(length) } });
const withHead = (status: number, headers: Record<string, string>, body: string) => (to: ServerResponse) => {
  to.writeHead(status, headers).end(body);
};
const JSON_TYPE = { 'content-type': 'application/json' };
const LIMIT = SITE_ANSWER_LIMIT_BYTES - JSON.stringify(sized(0)).length;

test.each<[string, CityReply]>([
  ['one byte too much', sized(LIMIT + 1)],
  ['a redirect', withHead(307, { location: `${elsewhere.url}/api/world/draft/7` }, '')],
  ['a page', withHead(200, { 'content-type': 'text/html' }, '<!doctype html>')],
  ['half of it', withHead(200, JSON_TYPE, JSON.stringify({ draft }).slice(0, 100))],
  ['another draft', { draft: { ...draft, id: 8 } }],
  ['a state that is none', { draft: { ...draft, state: 'sold' } }],
  ['a wallet that is none', { draft: { ...draft, seller_wallet: '0x1' } }],
  ['a draft without a price', { draft: { ...draft, price_usdc: null } }],
  ['a failure with the record in it', (to) => sendJson(to, 500, { draft })],
  ['a market without a world aisle', (to) => sendJson(to, 503, { reason: 'world_closed' })],
  ['a 404 of another server', (to) => sendJson(to, 404, { error: 'Not Found' })],
  ['a hang-up', (to) => to.destroy()],
])('%s is no answer', async (_, reply) => {
  market.answerAll(reply);
  await expect(read()).rejects.toMatchObject({ reason: 'market_unavailable', options: { retryAfterSeconds: 2 } });
  expect(elsewhere.asked).toEqual([]);
});

it('exactly as much as is allowed is taken', async () => {
  market.answerAll(sized(LIMIT));
  expect(await read()).toMatchObject({ id: 7 });
});

it('neither another checkout nor another merchant than the one asked for is taken', async () => {
  market.answerAll({ checkout: { ...checkout, id: 8 }, merchant: { handle: 'eve', city_handle: 'ada' } });
  expect(await reasonOf(readCheckout(city, 7n))).toBe('market_unavailable');
  expect(await reasonOf(readMerchant(city, 'seller-one'))).toBe('market_unavailable');
});

it('neither answers nor logs repeat what the market sent', async () => {
  const marked = 'planted-by-the-market';
  for (const reply of [{ draft: { ...draft, state: marked } }, withHead(200, JSON_TYPE, marked)]) {
    market.answerAll(reply);
    const told: unknown = await read().catch((error) => ({ message: error.message, options: error.options }));
    expect(JSON.stringify(told)).not.toContain(marked);
  }
  expect(JSON.stringify(lines)).not.toContain(marked);
});
