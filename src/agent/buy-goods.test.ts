import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  ARTIFACT,
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  refusalAnswer,
  SELLER,
} from '../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  noncesToSettle,
  type Reply,
  type ScriptedMarket,
  startScriptedMarket,
} from '../../test/support/scripted-market.ts';
import { createClient } from '../sdk/client.ts';
import { type BuyGoodsOptions, buyGoods } from './buy-goods.ts';
import { readPolicy } from './policy.ts';
import { openSpendBook } from './spend-book.ts';

const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });

let root = '';
let homes = 0;
let market: ScriptedMarket | undefined;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'openaisle-buy-'));
});
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A buyer with an empty book before a market that shows listing 7 and answers purchases in the order of the script, the last for ever. */
async function buyerBefore(script: Reply[], listing: () => object = () => ({})) {
  let bought = 0;
  const scripted = await startScriptedMarket((request) => {
    if (request.method === 'POST') {
      bought += 1;
      return script[Math.min(bought, script.length) - 1] ?? 'cut';
    }
    return request.path.startsWith('/api/listing') ? listingAnswer(7, listing()) : officialAnswer();
  });
  market = scripted;
  homes += 1;
  const env = { HOME: join(root, String(homes)) };
  const time = createTestTime();
  const wallet = createTestWallet();
  const book = openSpendBook({ env, address: wallet.address });
  const policy = await readPolicy(env);
  const client = createClient({ baseUrl: scripted.baseUrl, environment: time });
  const act = (more: Partial<BuyGoodsOptions> = {}) =>
    buyGoods({ client, wallet, policy, book, listingId: 7, maxPriceUsdc: 3, ...more });
  const paid = () => noncesToSettle(scripted.seen.filter(({ method }) => method === 'POST')).size;
  return { act, wallet, book, paid, time };
}

test('goods that are not what was promised are kept as evidence, and never paid for a second time', async () => {
  const wrong = deliveryAnswer(7, { artifact: 'something else' });
  const { act, wallet, book, paid } = await buyerBefore([asked, wrong, asked, asked]);
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'AgentError', trouble: 'refused', parts: { reason: 'goods_mismatch' } });
  const { file } = (error as { parts: { file: string } }).parts;
  expect(await readFile(file, 'utf8')).toBe('something else');
  expect((await book.list()).map(({ state }) => state)).toEqual(['settled']);
  // The market now acts as if nothing had been bought.
  await expect(act()).rejects.toMatchObject({ parts: { reason: 'not_reserved' } });
  expect([wallet.signed, paid()]).toEqual([1, 1]);
});

test('goods without a receipt are had, and a market that asks for money again gets none', async () => {
  const { act, wallet, paid } = await buyerBefore([asked, deliveryAnswer(7), asked]);
  const { path } = await act();
  expect(await readFile(path, 'utf8')).toBe(ARTIFACT);
  expect(await act()).toMatchObject({ path, alreadyHere: true });
  await rm(path);
  await expect(act()).rejects.toMatchObject({ parts: { reason: 'not_reserved' } });
  expect([wallet.signed, paid()]).toEqual([1, 1]);
});

test.each([
  ['a price', { price_usdc: 2.6 }],
  ['a wallet', { seller_wallet: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' }],
])('%s that changes between judging and signing is not signed', async (_, changed) => {
  let reads = 0;
  const listing = (): object => {
    reads += 1;
    return reads === 1 ? {} : changed;
  };
  const otherTerms = paymentRequiredAnswer({
    payTo: SELLER,
    units: '2500000',
    ...('seller_wallet' in changed ? { payTo: changed.seller_wallet } : {}),
  });
  const { act, wallet, book } = await buyerBefore([otherTerms], listing);
  await expect(act()).rejects.toMatchObject({ name: expect.stringMatching(/^(?:TermsRefused|PolicyRefused)$/) });
  expect([wallet.signed, await book.list()]).toEqual([0, []]);
});

test('a payment that lapsed is paid once more only where that is allowed, and both count', async () => {
  const lapsed = refusalAnswer('authorization_lapsed');
  const { act, wallet, book, time } = await buyerBefore([asked, lapsed, lapsed, lapsed, asked, deliveryAnswer(7)]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  await act({ payAgain: true });
  expect(wallet.signed).toBe(2);
  expect((await book.list()).map(({ state, sequence }) => [state, sequence]).toSorted()).toEqual([
    ['over', 1],
    ['settled', 2],
  ]);
  expect(await book.spentToday()).toBe(5_000_000n);
});
