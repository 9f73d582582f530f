import { afterEach, expect, test } from 'vitest';
import {
  ARTIFACT,
  deliveryAnswer,
  listingAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  nonceIn,
  noncesToSettle,
  type Reply,
  type ScriptedMarket,
  startScriptedMarket,
} from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { type BuyOptions, buy } from './buy.ts';
import type { Progress } from './payment-run.ts';
import { createMemoryProofStore } from './proof-store.ts';

const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });
const delivered = deliveryAnswer(7);
const settling = (seconds: number, fields = {}) =>
  refusalAnswer('settlement_pending', { retry_after_seconds: seconds, ...fields });

let market: ScriptedMarket | undefined;
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});

/** Runs a buyer at a market that shows listing 7 and answers purchases by the script, repeating its last answer. */
async function buyerBefore(script: Reply[], options: Partial<BuyOptions> = {}, listing: object = {}) {
  let bought = 0;
  const scripted = await startScriptedMarket((request) => {
    if (request.method === 'GET') return listingAnswer(7, listing);
    bought += 1;
    return script[Math.min(bought, script.length) - 1] ?? 'cut';
  });
  market = scripted;
  const time = createTestTime();
  const wallet = createTestWallet();
  const phases: string[] = [];
  const progress: Progress[] = [];
  const onProgress = (step: Progress): void => {
    progress.push(step);
    phases.push(step.phase);
  };
  const client = createClient({ baseUrl: scripted.baseUrl, environment: time });
  // Other tests cover asking first whether the wallet owns the goods.
  const base = { client, wallet, listingId: 7, maxPriceUsdc: 3, onProgress, collectFirst: 'never' } as const;
  const purchases = () => scripted.seen.filter((request) => request.method === 'POST');
  const act = (more: Partial<BuyOptions> = {}) => buy({ ...base, ...options, ...more });
  return { act, time, wallet, phases, progress, purchases, baseUrl: scripted.baseUrl, base };
}

test.each([1, 2] as const)('v%i: 402, sign, goods: one proof, checked against the commitment', async (x402Version) => {
  const { act, purchases, phases } = await buyerBefore([asked, delivered], { x402Version });
  expect((await act()).artifact).toBe(ARTIFACT);
  const [first, second] = purchases();
  expect(first?.body).toEqual({ max_price_usdc: 3 });
  expect(second?.headers[x402Version === 1 ? 'x-payment' : 'payment-signature']).toBeDefined();
  expect(noncesToSettle(purchases()).size).toBe(1);
  expect(phases).toEqual(['signed', 'submitted', 'delivered']);
});

test('503 and 202 are waited out with the same proof, at the market’s pace', async () => {
  const script = [asked, settling(5), pendingAnswer({ retry_after_seconds: 60 }), pendingAnswer(), delivered];
  const { act, purchases, wallet, time, phases, progress } = await buyerBefore(script);
  await act();
  expect(wallet.signed).toBe(1);
  expect(noncesToSettle(purchases()).size).toBe(1);
  expect(purchases().slice(1).map(nonceIn)).not.toContain(null);
  expect(time.slept).toEqual([5, 60, 15]);
  expect(phases).toEqual(['signed', 'submitted', 'submitted', 'pending', 'pending', 'delivered']);
  expect(progress[4]).toMatchObject({ secondsWaited: 65, estimateSeconds: 1_200, payment: { stage: 'mined' } });
});

test('after a lost answer the same proof goes out again', async () => {
  const { act, purchases, wallet } = await buyerBefore([asked, 'cut', 'cut', delivered]);
  await act();
  expect(wallet.signed).toBe(1);
  expect(noncesToSettle(purchases()).size).toBe(1);
  expect(purchases()).toHaveLength(4);
});

test('a proxy’s page and a fault of the market do not lead to a second signature', async () => {
  const page = { status: 504, headers: { 'retry-after': '9' }, body: '<html>timeout</html>' };
  const { act, wallet, time } = await buyerBefore([asked, page, refusalAnswer('internal_error'), delivered]);
  await act();
  expect(wallet.signed).toBe(1);
  expect(time.slept[0]).toBe(9);
});

/** Answers of proxies that can't reach the market. */
const GATEWAY_ANSWERS: Reply[] = [
  { status: 503, body: '<html>No server is available to handle this request.</html>' },
  { status: 502, body: { message: 'no upstream' } },
  { status: 504, body: '' },
];

test('a proxy that does not reach the market is waited out with the same proof, whatever its answers say', async () => {
  const away = Array.from({ length: 21 }, (_, at) => GATEWAY_ANSWERS[at % 3] ?? 'cut');
  const { act, purchases, wallet, phases } = await buyerBefore([asked, ...away, delivered]);
  expect((await act()).artifact).toBe(ARTIFACT);
  expect(wallet.signed).toBe(1);
  expect(noncesToSettle(purchases()).size).toBe(1);
  expect(purchases()).toHaveLength(23);
  expect(phases.at(-1)).toBe('delivered');
});

test('such a proxy is waited out before anything is signed too, for a minute', async () => {
  for (const answer of GATEWAY_ANSWERS) {
    const served = { GET: 0, POST: 0 };
    await using scripted = await startScriptedMarket(({ method }) => {
      served[method === 'GET' ? 'GET' : 'POST'] += 1;
      if (method === 'GET') return served.GET <= 3 ? answer : listingAnswer(7);
      return served.POST <= 5 ? answer : served.POST === 6 ? asked : delivered;
    });
    const [time, wallet] = [createTestTime(), createTestWallet()];
    const client = createClient({ baseUrl: scripted.baseUrl, environment: time });
    const goods = await buy({ client, wallet, listingId: 7, maxPriceUsdc: 3, collectFirst: 'never' });
    expect(goods.artifact).toBe(ARTIFACT);
    expect([served, wallet.signed, time.slept]).toEqual([{ GET: 4, POST: 7 }, 1, [2, 4, 8, 2, 4, 8, 16, 30]]);
  }
});

test('a proxy that never reaches the market is left after a minute, with nothing signed', async () => {
  await using scripted = await startScriptedMarket(() => ({ status: 503, body: '<html>away</html>' }));
  const [time, wallet] = [createTestTime(), createTestWallet()];
  const client = createClient({ baseUrl: scripted.baseUrl, environment: time });
  const base = { client, wallet, listingId: 7, maxPriceUsdc: 3 };
  await expect(buy(base)).rejects.toMatchObject({ name: 'UnreadableAnswer', status: 503 });
  expect(time.slept).toEqual([2, 4, 8, 16, 30]);
  await expect(buy({ ...base, maxWaitSeconds: 5 })).rejects.toMatchObject({ status: 503 });
  expect(time.slept).toEqual([2, 4, 8, 16, 30, 2]);
  expect([scripted.seen.length, wallet.signed]).toEqual([8, 0]);
});

test('the delivery token is kept from an answer of any status and sent from then on', async () => {
  const script = [asked, settling(1, { delivery_token: 'tok' }), pendingAnswer(), delivered];
  const { act, purchases } = await buyerBefore(script);
  await act();
  expect(purchases().map((request) => request.headers['x-delivery-token'])).toEqual([
    undefined,
    undefined,
    'tok',
    'tok',
  ]);
});

test('sign_to_collect: a fresh signature goes out only with collect, the first proof stays the only one to settle', async () => {
  const script = [asked, pendingAnswer(), refusalAnswer('sign_to_collect'), asked, delivered];
  const { act, purchases, wallet, phases } = await buyerBefore(script);
  await act();
  expect(noncesToSettle(purchases()).size).toBe(1);
  expect(wallet.signed).toBe(2);
  const [collectAsked, collect] = purchases().slice(-2);
  expect(collectAsked?.body).toEqual({ collect: true });
  expect(collectAsked && nonceIn(collectAsked)).toBeNull();
  expect(collect?.body).toEqual({ collect: true, collect_salt: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  expect(noncesToSettle(purchases()).has(String(collect && nonceIn(collect)))).toBe(false);
  expect(phases).toEqual(['signed', 'submitted', 'pending', 'collecting', 'delivered']);
});

test('a collecting signature that runs out while pending is followed by another, never at the same time', async () => {
  const slow = pendingAnswer({ retry_after_seconds: 100 });
  const script = [asked, refusalAnswer('sign_to_collect'), asked, slow, slow, asked, delivered];
  const { act, purchases, wallet } = await buyerBefore(script);
  await act();
  expect(wallet.signed).toBe(3);
  const collecting = purchases().slice(2).map(nonceIn);
  expect(collecting[1]).toBe(collecting[2]);
  expect(collecting[3]).toBeNull();
  expect(noncesToSettle(purchases()).size).toBe(1);
});

test('a wallet that bought before the proof was lost collects once its fresh proof has run out', async () => {
  const slow = pendingAnswer({ retry_after_seconds: 130 });
  const script = [asked, slow, refusalAnswer('payment_invalid'), asked, delivered];
  const { act, purchases } = await buyerBefore(script);
  await act();
  expect(noncesToSettle(purchases()).size).toBe(1);
});

test('a crash of the buyer goes on with the same proof and token, without asking or signing again', async () => {
  const proofStore = createMemoryProofStore();
  const script = [asked, settling(1, { delivery_token: 'tok' }), settling(60), delivered];
  const first = await buyerBefore(script, { proofStore, maxWaitSeconds: 30 });
  await expect(first.act()).rejects.toMatchObject({ name: 'PaymentUndecided', doNotPayAgain: true });
  const client = createClient({ baseUrl: first.baseUrl, environment: first.time });
  await first.act({ client });
  expect(first.wallet.signed).toBe(1);
  expect(noncesToSettle(first.purchases()).size).toBe(1);
  expect(first.purchases().at(-1)?.headers['x-delivery-token']).toBe('tok');
  expect(await proofStore.load(`${first.baseUrl} buy 7 ${first.wallet.address.toLowerCase()}`)).toBeNull();
});

test('the proof is saved before it is sent: a store that fails keeps it at home', async () => {
  const broken = { ...createMemoryProofStore(), save: () => Promise.reject(new Error('disk full')) };
  const { act, purchases } = await buyerBefore([asked, delivered], { proofStore: broken });
  await expect(act()).rejects.toThrow('disk full');
  expect(noncesToSettle(purchases()).size).toBe(0);
});

test('a saved payment that cannot be read stops the buyer instead of paying a second time', async () => {
  const proofStore = { ...createMemoryProofStore(), load: async () => ({ version: 1, proof: 'torn' }) };
  const { act, purchases } = await buyerBefore([asked, delivered], { proofStore });
  await expect(act()).rejects.toThrow('cannot be read');
  expect(purchases()).toHaveLength(0);
});

test('without a store, calling again on the same client goes on with the same proof', async () => {
  const { act, wallet, purchases } = await buyerBefore([asked, settling(60), delivered], { maxWaitSeconds: 30 });
  await expect(act()).rejects.toMatchObject({ name: 'PaymentUndecided' });
  await act();
  expect(wallet.signed).toBe(1);
  expect(noncesToSettle(purchases()).size).toBe(1);
});

test('a lapsed payment is an error, also when called again, until the caller allows another', async () => {
  const lapsed = refusalAnswer('authorization_lapsed');
  const { act, wallet, time, purchases } = await buyerBefore([asked, lapsed, lapsed, lapsed, asked, delivered]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed', doNotPayAgain: false });
  // Paying again is allowed, but the first authorization could still be submitted, so no second one is signed yet.
  await expect(act({ mayPayAgain: true })).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  expect(wallet.signed).toBe(1);
  await time.sleep(121_000);
  await act({ mayPayAgain: true });
  expect(wallet.signed).toBe(2);
  expect(noncesToSettle(purchases()).size).toBe(2);
});

test('a lapsed payment is not made once more when its window is over, unless the caller allows it', async () => {
  const lapsed = refusalAnswer('authorization_lapsed');
  const { act, wallet, time } = await buyerBefore([asked, lapsed, lapsed, asked, delivered]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  expect(wallet.signed).toBe(1);
});

test('a payment begun elsewhere that ends unpaid is not replaced unless the caller allows it', async () => {
  const { act, wallet, purchases } = await buyerBefore([pendingAnswer(), asked, pendingAnswer(), asked, delivered]);
  await expect(act()).rejects.toMatchObject({ reason: 'payment_required' });
  expect(wallet.signed).toBe(0);
  await act({ mayPayAgain: true });
  expect(noncesToSettle(purchases()).size).toBe(1);
});

test('a market that asks for a payment again after the proof gets no second one', async () => {
  const { act, wallet } = await buyerBefore([asked, asked, delivered], { mayPayAgain: true });
  await expect(act()).rejects.toMatchObject({ reason: 'payment_required' });
  expect(wallet.signed).toBe(1);
});

test.each([
  ['payment_rejected', { doNotPayAgain: true }],
  ['needs_review', { doNotPayAgain: true }],
  ['payment_bound_elsewhere', { doNotPayAgain: true }],
  ['listing_removed', { doNotPayAgain: false }],
] as const)('%s ends the call with the market’s word', async (reason, expected) => {
  const { act, wallet } = await buyerBefore([asked, refusalAnswer(reason)]);
  await expect(act()).rejects.toMatchObject({ reason, ...expected });
  expect(wallet.signed).toBe(1);
});

test.each([
  ['another payee', { payTo: TREASURY, units: '2500000' }, 'wrong_payee'],
  ['another amount', { payTo: SELLER, units: '2600000' }, 'wrong_amount'],
  ['another token', { payTo: SELLER, units: '2500000', asset: TREASURY }, 'wrong_asset'],
  ['a long window', { payTo: SELLER, units: '2500000', maxTimeoutSeconds: 86_400 }, 'window_too_long'],
])('a 402 that asks for %s than the listing says is not signed', async (_, terms, why) => {
  const { act, wallet } = await buyerBefore([paymentRequiredAnswer(terms)]);
  await expect(act()).rejects.toMatchObject({ name: 'TermsRefused', why });
  expect(wallet.signed).toBe(0);
});

test('a price above the limit is refused before anything is asked', async () => {
  const { act, purchases } = await buyerBefore([asked], { maxPriceUsdc: 2.499999 });
  await expect(act()).rejects.toMatchObject({ why: 'price_above_limit' });
  expect(purchases()).toHaveLength(0);
});

test('a thing of the city is refused before anything is asked: it has no goods', async () => {
  const thing = { delivery_kind: 'city_ownership', artifact_commitment: null } as const;
  const { act, purchases } = await buyerBefore([asked], {}, thing);
  await expect(act()).rejects.toMatchObject({ name: 'TermsRefused', why: 'not_goods' });
  expect(purchases()).toHaveLength(0);
});

test('free goods come at once, and a 402 for them is not signed', async () => {
  const free = await buyerBefore([delivered], { maxPriceUsdc: 0 }, { price_usdc: 0 });
  expect((await free.act()).artifact).toBe(ARTIFACT);
  expect(free.wallet.signed).toBe(0);
  await market?.[Symbol.asyncDispose]();
  const zero = paymentRequiredAnswer({ payTo: SELLER, units: '0' });
  const odd = await buyerBefore([zero], {}, { price_usdc: 0 });
  await expect(odd.act()).rejects.toMatchObject({ why: 'wrong_amount' });
  expect(odd.wallet.signed).toBe(0);
});

test('other goods than the listing committed to are an error that still hands them over', async () => {
  const { act } = await buyerBefore([asked, deliveryAnswer(7, { artifact: 'something else' })]);
  await expect(act()).rejects.toMatchObject({ name: 'ArtifactMismatch', doNotPayAgain: true });
  await expect(act()).rejects.toSatisfy((error) => error.delivery().artifact === 'something else');
});

test('base64 goods are checked by their bytes', async () => {
  const artifact = Buffer.from(ARTIFACT).toString('base64');
  const { act } = await buyerBefore([asked, deliveryAnswer(7, { artifact, artifact_encoding: 'base64' })]);
  expect((await act()).artifact).toBe(artifact);
});

test('a market that is down before anything is signed gives its own error after a few tries', async () => {
  const { act, purchases, wallet } = await buyerBefore([refusalAnswer('usdc_paused')]);
  await expect(act()).rejects.toMatchObject({ reason: 'usdc_paused', doNotPayAgain: false });
  expect(purchases()).toHaveLength(4);
  expect(wallet.signed).toBe(0);
});

test('a broken-off wait keeps the proof and says that a payment may exist', async () => {
  const stop = new AbortController();
  const onProgress = ({ phase }: Progress): void => (phase === 'submitted' ? stop.abort() : undefined);
  const { act, wallet } = await buyerBefore([asked, settling(5)], { signal: stop.signal, onProgress });
  await expect(act()).rejects.toMatchObject({ name: 'PaymentUndecided', payer: wallet.address });
});

test('a market that talks nonsense after the proof is left with a warning, not waited for', async () => {
  const { act } = await buyerBefore([asked, { status: 200, body: { odd: true } }]);
  await expect(act()).rejects.toMatchObject({ name: 'PaymentUndecided', cause: { why: 'unexpected' } });
});
