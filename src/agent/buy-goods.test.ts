import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  ARTIFACT,
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
} from '../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  nonceIn,
  noncesToSettle,
  type Reply,
  type ScriptedMarket,
  type SeenRequest,
  startScriptedMarket,
} from '../../test/support/scripted-market.ts';
import type { Delivery } from '../contract/listings.ts';
import { createClient } from '../sdk/client.ts';
import { commitmentOf } from '../sdk/payments/artifact-commitment.ts';
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
async function buyerBefore(script: (Reply | ((request: SeenRequest) => Reply))[], listing: () => object = () => ({})) {
  let bought = 0;
  const scripted = await startScriptedMarket((request) => {
    if (request.method === 'POST') {
      bought += 1;
      const reply = script[Math.min(bought, script.length) - 1] ?? 'cut';
      return typeof reply === 'function' ? reply(request) : reply;
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
  expect(error).toMatchObject({ name: 'AgentError', trouble: 'unknown', parts: { reason: 'goods_mismatch' } });
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

test('goods that are here are given again and never paid for, also where another payment is allowed', async () => {
  const { act, wallet, paid } = await buyerBefore([asked, deliveryAnswer(7), asked]);
  const { path } = await act();
  expect(await act({ payAgain: true })).toMatchObject({ path, alreadyHere: true });
  await rm(path);
  await expect(act({ payAgain: true })).rejects.toMatchObject({ parts: { reason: 'not_reserved' } });
  expect([wallet.signed, paid()]).toEqual([1, 1]);
});

const RECEIPT: NonNullable<Delivery['receipt']> = {
  ...{ payment_id: 9, tx_hash: `0x${'7a'.repeat(32)}`, block_number: 5, block_hash: `0x${'7b'.repeat(32)}` },
  ...{ block_time: '2026-01-02T03:04:05.678Z', payer: SELLER, payee: SELLER, asset: SELLER, amount_usdc: 2.5 },
  ...{ amount_units: '2500000', network: 'base' },
};

test('goods that were paid for and lost come by a signature that moves nothing, and are held to what was promised first', async () => {
  let promised = {};
  const other = deliveryAnswer(7, { artifact: 'other goods', receipt: { ...RECEIPT, payment_id: 10 } });
  const lost = await buyerBefore(
    [asked, deliveryAnswer(7, { receipt: RECEIPT }), asked, other, asked, deliveryAnswer(7, { receipt: RECEIPT })],
    () => promised,
  );
  const { act, wallet, book, paid } = lost;
  const { path, goods } = await act();
  await rm(path);
  // A market that has exchanged goods and commitment.
  promised = {
    artifact_commitment: commitmentOf({
      artifact: 'other goods',
      artifact_encoding: 'utf-8',
      artifact_salt: goods.salt,
    }),
  };
  await expect(act()).rejects.toMatchObject({
    trouble: 'unknown',
    parts: { reason: 'goods_mismatch', doNotPayAgain: true },
  });
  expect((await book.list())[0]?.delivery).toEqual(goods);
  promised = {};
  expect(await act()).toMatchObject({ path, alreadyHere: false });
  expect(paid()).toBe(1);
  expect(wallet.signed).toBe(3);
});

test('what a market sends beyond all measure does not make the book unreadable', async () => {
  const slip = 's'.repeat(9_000_000);
  const script = [asked, pendingAnswer({ recovery_slip: slip }), deliveryAnswer(7, { recovery_slip: slip })];
  const { act, book } = await buyerBefore(script, () => ({ title: 'x'.repeat(1_000_000) }));
  await act();
  const [record] = await book.list();
  expect([record?.title.length, record?.delivery?.recovery_slip]).toEqual([240, null]);
});

test('a market that asks again after it was shown a signature has not refused it: the outcome is not known', async () => {
  const { act, book, wallet } = await buyerBefore([asked, asked, deliveryAnswer(7)]);
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ trouble: 'unknown', parts: { reason: 'payment_undecided', doNotPayAgain: true } });
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
  expect(await act()).toMatchObject({ paidUnits: 2_500_000n });
  expect(wallet.signed).toBe(1);
});

test('after a payment a disk that takes no goods leaves it open, and says so', async () => {
  const { act, book, wallet } = await buyerBefore([asked, deliveryAnswer(7)]);
  const folder = join(root, `taken-${homes}`);
  // What stands in the way of the goods' own file: a folder under its name.
  await mkdir(join(folder, '7-Goods'), { recursive: true });
  const error = await act({ outDir: folder }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ trouble: 'unknown', parts: { reason: 'not_kept', doNotPayAgain: true } });
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
  await rm(folder, { recursive: true });
  expect(await act({ outDir: folder })).toMatchObject({ paidUnits: 2_500_000n });
  expect(wallet.signed).toBe(1);
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
  const nonces = new Set<string | null>();
  const judge = (request: SeenRequest): Reply => {
    const nonce = nonceIn(request);
    if (nonce === null) return asked;
    return nonces.add(nonce).size === 1 ? refusalAnswer('authorization_lapsed') : deliveryAnswer(7);
  };
  const { act, wallet, book, time } = await buyerBefore([judge]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  const unasked = await act().catch((error: unknown) => error);
  expect([wallet.signed, unasked]).toMatchObject([1, { reason: 'authorization_lapsed' }]);
  await act({ payAgain: true });
  expect(wallet.signed).toBe(2);
  expect((await book.list()).map(({ state, sequence }) => [state, sequence]).toSorted()).toEqual([
    ['over', 1],
    ['settled', 2],
  ]);
  expect(await book.spentToday()).toBe(5_000_000n);
});

test.each<[string, Partial<BuyGoodsOptions>, object, string]>([
  ['by a lower limit of the policy', {}, { perPurchaseUnits: 1_000_000n }, 'above_per_purchase'],
  ['by a seller who was denied since', {}, { sellers: { deny: ['ada'] } }, 'seller_not_allowed'],
  ['by a person who says no', { confirm: async () => false }, { askAboveUnits: 1n }, 'not_confirmed'],
  ['by the most that the caller allows', { maxPriceUsdc: 1 }, {}, 'above_max_price'],
])('another payment is judged as the first one was: it is refused %s', async (_, more, changed, reason) => {
  const lapsed = refusalAnswer('authorization_lapsed');
  const { act, wallet, book, time } = await buyerBefore([asked, lapsed, lapsed, asked]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  const policy = { ...(await readPolicy({ HOME: root })), ...changed };
  await expect(act({ payAgain: true, policy, ...more })).rejects.toMatchObject({
    name: 'PolicyRefused',
    parts: { reason },
  });
  expect(wallet.signed).toBe(1);
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
});
