import { afterEach, expect, test } from 'vitest';
import {
  listingDetail,
  officialAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  noncesToSettle,
  type Reply,
  type ScriptedMarket,
  startScriptedMarket,
} from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { listGoods } from './list-goods.ts';
import { createMemoryProofStore } from './proof-store.ts';

const asked = paymentRequiredAnswer({ payTo: TREASURY, units: '1000000' });
const created: Reply = {
  status: 201,
  body: {
    listing_id: 7,
    url: '/api/listing/7',
    listing: listingDetail(7),
    fee: { amount_usdc: 1, tx_hash: null, verified_via: 'x402' },
  },
};
const listing = {
  title: 'Goods',
  description: 'd',
  preview: '',
  artifact: 'a',
  price_usdc: 2.5,
  seller_wallet: SELLER,
};

let market: ScriptedMarket | undefined;
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});

async function sellerBefore(script: Reply[], official = officialAnswer()) {
  let posts = 0;
  const scripted = await startScriptedMarket((request) => {
    if (request.method === 'GET') return official;
    posts += 1;
    return script[Math.min(posts, script.length) - 1] ?? 'cut';
  });
  market = scripted;
  const client = createClient({ baseUrl: scripted.baseUrl, key: 'k', environment: createTestTime() });
  const options = { client, wallet: createTestWallet(), listing, proofStore: createMemoryProofStore() };
  return { options, posts: () => scripted.seen.filter((request) => request.method === 'POST') };
}

test('the fee goes to the treasury with one proof, and the same body is sent until the listing is live', async () => {
  const script = [asked, 'cut', pendingAnswer({ retry: 'same_request' }), pendingAnswer(), created] as const;
  const { options, posts } = await sellerBefore([...script]);
  const made = await listGoods(options);
  expect(made.listing_id).toBe(7);
  expect(options.wallet.signed).toBe(1);
  expect(noncesToSettle(posts()).size).toBe(1);
  expect(posts().map((request) => request.body)).toEqual(Array(5).fill(listing));
  expect(posts().every((request) => request.headers.authorization === 'Bearer k')).toBe(true);
});

test('a crash in between goes on with the same proof, also when the fields come in another order', async () => {
  const waiting = pendingAnswer({ retry_after_seconds: 60 });
  const { options, posts } = await sellerBefore([asked, waiting, created]);
  await expect(listGoods({ ...options, maxWaitSeconds: 30 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
  const turned = Object.fromEntries(Object.entries(listing).reverse()) as typeof listing;
  await listGoods({ ...options, listing: turned });
  expect(options.wallet.signed).toBe(1);
  expect(noncesToSettle(posts()).size).toBe(1);
});

test('without a fee due nothing is signed', async () => {
  const { options } = await sellerBefore([created]);
  await listGoods(options);
  expect(options.wallet.signed).toBe(0);
});

test('a fee above the limit, to another payee, or on another network is not signed', async () => {
  const dear = await sellerBefore([asked], officialAnswer({ listing_fee_usdc: 2 }));
  await expect(listGoods(dear.options)).rejects.toMatchObject({ why: 'price_above_limit' });
  await market?.[Symbol.asyncDispose]();
  const pinned = await sellerBefore([asked]);
  await expect(listGoods({ ...pinned.options, treasury: SELLER })).rejects.toMatchObject({ why: 'wrong_payee' });
  await market?.[Symbol.asyncDispose]();
  const elsewhere = await sellerBefore([asked], officialAnswer({ network: 'base-sepolia' }));
  await expect(listGoods(elsewhere.options)).rejects.toMatchObject({ why: 'wrong_network' });
  for (const { options } of [dear, pinned, elsewhere]) expect(options.wallet.signed).toBe(0);
});

test('a lapsed fee and a duplicate are errors', async () => {
  const lapsed = await sellerBefore([asked, refusalAnswer('authorization_lapsed')]);
  await expect(listGoods(lapsed.options)).rejects.toMatchObject({
    reason: 'authorization_lapsed',
    doNotPayAgain: false,
  });
  await market?.[Symbol.asyncDispose]();
  const twice = await sellerBefore([refusalAnswer('duplicate_listing')]);
  await expect(listGoods(twice.options)).rejects.toMatchObject({ reason: 'duplicate_listing' });
});
