import { afterEach, expect, expectTypeOf, test } from 'vitest';
import { deliveryAnswer, listingAnswer, problem, refusalAnswer } from '../../test/support/market-answers.ts';
import { type Reply, type ScriptedMarket, startScriptedMarket } from '../../test/support/scripted-market.ts';
import type { Problem } from '../contract/errors.ts';
import type { Delivery, ListingDetail } from '../contract/listings.ts';
import { createClient } from './client.ts';
import { MarketError, type ReadProblem, UnreadableAnswer } from './errors.ts';

const KEY = 'aisle_sk_not-a-real-key';
const FILE: NonNullable<Delivery['download']> = {
  ...{ url: 'https://market.example/api/download/7', bytes: 9, media_type: 'application/zip', filename: null },
  ...{ sha256: `0x${'00'.repeat(32)}`, download_token: null, expires_at: null },
};
let market: ScriptedMarket | undefined;
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});

async function marketWith(...replies: Reply[]): Promise<ScriptedMarket> {
  market = await startScriptedMarket((_, index) => replies[Math.min(index, replies.length - 1)] ?? 'cut');
  return market;
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => null,
    (error: unknown) => error,
  );
}

test('a call fills in path and query, and reads a typed answer with fields that this version does not know', async () => {
  const { baseUrl, seen } = await marketWith(listingAnswer(7));
  const client = createClient({ baseUrl: `${baseUrl}/`, key: KEY });
  const answer = await client.getListing({ params: { id: 7 }, query: { comments_limit: '20' } });
  expect(answer.body.listing.title).toBe('Goods 7');
  expect(answer.requestId).toBe('req-1');
  expect(seen[0]).toMatchObject({ method: 'GET', path: '/api/listing/7?comments_limit=20' });
  expectTypeOf(answer.body.listing).toEqualTypeOf<ListingDetail>();
});

test('types: required parts must be given, only payment routes take proofs, and statuses narrow the body', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1' });
  expectTypeOf(client.getOfficialFacts).parameter(0).toExtend<{ signal?: AbortSignal | undefined } | undefined>();
  expectTypeOf(client.browseShelves).toBeCallableWith();
  expectTypeOf(client.buyListing).toBeCallableWith({ params: { id: 1 } });
  // @ts-expect-error a path without its parameter
  expectTypeOf(client.getListing).toBeCallableWith({});
  // @ts-expect-error a listing without a body
  expectTypeOf(client.createListing).toBeCallableWith({});
  // @ts-expect-error no such aisle
  expectTypeOf(client.browseShelves).toBeCallableWith({ query: { aisle: 'weapons' } });
  // @ts-expect-error a proof where none is taken
  expectTypeOf(client.browseShelves).toBeCallableWith({ payment: { name: 'X-PAYMENT', value: '' } });
  type Bought = Awaited<ReturnType<typeof client.buyListing>>;
  expectTypeOf<Extract<Bought, { status: 200 }>['body']>().toEqualTypeOf<Delivery>();
  expectTypeOf<Problem>().toExtend<ReadProblem>();
});

test('the key goes only to routes that take one; a staged key only to its own call', async () => {
  const { baseUrl, seen } = await marketWith(refusalAnswer('unavailable'));
  const client = createClient({ baseUrl, key: KEY });
  const calls = [
    () => client.getOfficialFacts(),
    () => client.browseShelves(),
    () => client.getListing({ params: { id: 1 } }),
    () => client.getStore({ params: { handle: 'ada' } }),
    () => client.listMerchants(),
    () => client.listEvents(),
    () => client.getWindow(),
    () => client.getPayment({ query: { tx_hash: `0x${'0'.repeat(64)}` } }),
    () => client.getTreasury(),
    () => client.register({ body: { action: 'cancel', session: 's', csrf: 'c' } }),
    () => client.register({ body: { action: 'cancel', session: 's', csrf: 'c' }, key: 'staged' }),
    () => client.getMe(),
    () => client.buyListing({ params: { id: 1 } }),
  ];
  for (const call of calls) await errorOf(call());
  const keys = seen.map((request) => request.headers.authorization);
  expect(keys).toEqual([...Array(10).fill(undefined), 'Bearer staged', `Bearer ${KEY}`, `Bearer ${KEY}`]);
});

test('proof and delivery token travel as headers; a handle is percent-encoded and dot segments are refused', async () => {
  const { baseUrl, seen } = await marketWith(deliveryAnswer(7));
  const client = createClient({ baseUrl });
  await client.buyListing({ params: { id: 7 }, payment: { name: 'X-PAYMENT', value: 'p' }, deliveryToken: 't' });
  expect(seen[0]?.headers).toMatchObject({ 'x-payment': 'p', 'x-delivery-token': 't' });
  expect(seen[0]?.body).toBeUndefined();
  await errorOf(client.getStore({ params: { handle: 'a/../b?c' } }));
  expect(seen[1]?.path).toBe('/api/store/a%2F..%2Fb%3Fc');
  expect(await errorOf(client.getStore({ params: { handle: '..' } }))).toBeInstanceOf(TypeError);
  expect(seen).toHaveLength(2);
});

test('a refusal is thrown with reason, status, waiting time and whether paying again is safe', async () => {
  const { baseUrl } = await marketWith(
    refusalAnswer('settlement_pending', { retry_after_seconds: 7, delivery_token: 'secret-token' }),
  );
  const error = await errorOf(createClient({ baseUrl }).buyListing({ params: { id: 7 } }));
  if (!(error instanceof MarketError)) throw error;
  expect(error).toMatchObject({
    reason: 'settlement_pending',
    status: 503,
    retryAfterSeconds: 7,
    doNotPayAgain: true,
    requestId: 'req-1',
  });
  expect(error.problem.retry).toBe('same_proof');
  expect(error.deliveryToken()).toBe('secret-token');
  expect(JSON.stringify({ ...error, message: error.message })).not.toContain('secret-token');
});

test('a reason that this version does not know is kept, and on a payment route means that a payment may exist', async () => {
  const { do_not_pay_again, ...rest } = problem('own_goods', { reason: 'moon_phase', do_not_pay_again: true });
  expect(do_not_pay_again).toBe(true);
  const { baseUrl } = await marketWith({ status: 403, body: rest });
  const client = createClient({ baseUrl });
  expect(await errorOf(client.buyListing({ params: { id: 7 } }))).toMatchObject({
    reason: 'moon_phase',
    doNotPayAgain: true,
  });
  expect(await errorOf(client.browseShelves())).toMatchObject({ reason: 'moon_phase', doNotPayAgain: undefined });
});

test.each<[string, Reply, Record<string, unknown>]>([
  ['a proxy’s page', { status: 502, body: '<html>bad gateway</html>' }, { why: 'not_json', status: 502 }],
  ['a page with status 200', { status: 200, body: '<html>sign in</html>' }, { why: 'not_json', status: 200 }],
  ['JSON that is no problem', { status: 503, body: { message: 'no' } }, { why: 'not_a_problem', status: 503 }],
  ['a problem of another status', { status: 402, body: problem('not_found') }, { why: 'not_a_problem' }],
  ['a success in another shape', { status: 200, body: { listing_id: 7 } }, { why: 'unexpected', status: 200 }],
  ['goods that are neither here nor a file', deliveryAnswer(7, { artifact: null }), { why: 'unexpected', status: 200 }],
  ['goods that are both here and a file', deliveryAnswer(7, { download: FILE }), { why: 'unexpected', status: 200 }],
  ['an undescribed success', { status: 204 }, { why: 'not_json' }],
  ['a cut connection', 'cut', { why: 'no_answer', status: null }],
])('%s says that nothing is known, never that nothing was paid', async (_, reply, expected) => {
  const { baseUrl } = await marketWith(reply);
  const error = await errorOf(createClient({ baseUrl }).buyListing({ params: { id: 7 } }));
  expect(error).toBeInstanceOf(UnreadableAnswer);
  expect(error).toMatchObject({ ...expected, doNotPayAgain: true });
});

test('a redirect is not followed: key and proof reach no other address', async () => {
  const { baseUrl, seen } = await marketWith({ status: 307, headers: { location: '/elsewhere' }, body: {} });
  const error = await errorOf(createClient({ baseUrl, key: KEY }).buyListing({ params: { id: 7 } }));
  expect(error).toMatchObject({ why: 'redirect' });
  expect(seen).toHaveLength(1);
});

test('an answer beyond the size limit is refused', async () => {
  const { baseUrl } = await marketWith(deliveryAnswer(7, { artifact: 'x'.repeat(70_000) }));
  const client = createClient({ baseUrl, maxResponseBytes: 65_536 });
  expect(await errorOf(client.buyListing({ params: { id: 7 } }))).toMatchObject({ why: 'too_large' });
});

test('an endless answer is broken off at the limit', async () => {
  let pulled = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    pulled += 1;
    if (pulled > 1_000) controller.close();
    else controller.enqueue(new Uint8Array(1_024).fill(0x20));
  };
  const endless = new Response(new ReadableStream({ pull }), { headers: { 'content-type': 'application/json' } });
  const environment = { fetch: async () => endless };
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', maxResponseBytes: 8_192, environment });
  expect(await errorOf(client.getTreasury())).toMatchObject({ why: 'too_large' });
  expect(pulled).toBeLessThan(20);
});

test('a market that does not answer in time counts as no answer', async () => {
  const { baseUrl } = await marketWith(deliveryAnswer(7));
  const ended = AbortSignal.abort(new Error('too late'));
  const client = createClient({ baseUrl, environment: { deadline: () => ended } });
  expect(await errorOf(client.buyListing({ params: { id: 7 } }))).toMatchObject({ why: 'no_answer' });
});

test('a base address with credentials, query or another scheme is refused', () => {
  for (const baseUrl of ['http://a:b@x.example', 'https://x.example?y', 'ftp://x.example', 'x.example'])
    expect(() => createClient({ baseUrl })).toThrow(TypeError);
});
