import type { Hex } from 'viem';
import { describe, expect, onTestFinished, test } from 'vitest';
import { asked, buyerBefore, RECEIPT } from '../../test/support/agent-buyer.ts';
import {
  deliveryAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../test/support/market-answers.ts';
import { samplePlan, sampleProof } from '../../test/support/sample-spend.ts';
import { startScriptedMarket } from '../../test/support/scripted-market.ts';
import { createClient } from '../sdk/client.ts';
import { finishSpends } from './finish-spends.ts';
import { listSpends } from './list-purchases.ts';
import { sellGoods } from './sell-goods.ts';
import type { SpendRecord } from './spend-record.ts';

// A refused signature isn't repeated endlessly, and counts only while it could be executed.

/** Signatures are valid for two minutes, and clocks may differ by fifteen. */
const RUN_OUT_MS = 17 * 60_000 + 1_000;
const PRICE = 2_500_000n;

const isRefused = (reason: string, nextStep: unknown = expect.any(String)) => ({
  ...{ name: 'AgentError', trouble: 'refused' },
  parts: expect.objectContaining({ reason, nextStep }),
});
const OTHER_WAY = expect.stringMatching(
  /pay by a transfer, or with another wallet.*curl .*\/api\/purchase-intent\/7 /s,
);

describe('one’s own goods', () => {
  test('are refused before anything is signed or booked', async () => {
    let own = SELLER;
    const buyer = await buyerBefore([asked], { listing: () => ({ seller_wallet: own }) });
    own = buyer.wallet.address;
    for (const more of [{}, { payAgain: true }])
      await expect(buyer.act(more)).rejects.toMatchObject({ name: 'TermsRefused', why: 'own_goods' });
    expect([buyer.wallet.signed, buyer.paid(), await buyer.book.list()]).toEqual([0, 0, []]);
  });

  test('of another wallet of the seller: the market says so after a signature, and then nothing leads to another', async () => {
    const { act, wallet, book, time, shared, seen } = await buyerBefore([asked, refusalAnswer('own_goods')]);
    await expect(act()).rejects.toMatchObject({ name: 'MarketError', reason: 'own_goods' });
    expect(await book.spentToday()).toBe(PRICE);
    const before = seen.length;
    for (const more of [{}, { payAgain: true }]) await expect(act(more)).rejects.toMatchObject(isRefused('own_goods'));
    const { client, ...purse } = shared;
    const going = await finishSpends({ ...purse, payAgain: true, connect: async () => client });
    expect(going).toMatchObject([{ error: isRefused('own_goods') }]);
    expect([seen.length, wallet.payments.length]).toEqual([before, 1]);
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(0n);
    expect(await listSpends(book)).toMatchObject([{ state: 'over' }]);
    expect(await finishSpends({ ...purse, connect: async () => client })).toEqual([]);
  });

  test('that an earlier version signed for count for no day, and end by themselves', async () => {
    const { act, book, time, shared, baseUrl, wallet } = await buyerBefore([asked]);
    const payer = wallet.address;
    const saved = sampleProof(PRICE);
    const validBefore = time.now() / 1_000 + 120;
    const record: SpendRecord = {
      ...samplePlan({ key: `${baseUrl} buy 7 ${payer.toLowerCase()}`, market: baseUrl, payee: payer }),
      ...{ version: 1, sequence: 1, state: 'signed', amount_units: PRICE.toString(), delivery: null, listed: null },
      ...{ reserved_at: new Date(time.now()).toISOString() },
      saved: { ...saved, payee: payer, proof: { ...saved.proof, payer, valid_before: validBefore } },
    };
    const { amountUnits: _, ...written } = record as SpendRecord & { amountUnits?: bigint };
    await book.restore(written);
    expect(await book.spentToday()).toBe(0n);
    await expect(act({ payAgain: true })).rejects.toMatchObject(isRefused('own_goods'));
    await time.sleep(RUN_OUT_MS);
    const { client, ...purse } = shared;
    expect(await finishSpends({ ...purse, connect: async () => client })).toEqual([]);
    expect(wallet.signed).toBe(0);
  });
});

describe('goods that are the wallet’s already', () => {
  test('cost nothing and count for nothing, whatever the limits are', async () => {
    const looks = [asked, deliveryAnswer(7, { collected_by: 'signature' })] as const;
    const buyer = await buyerBefore([asked], { looks, listing: () => ({ supersedes: 6 }) });
    const { act, wallet, book, shared } = buyer;
    const policy = { ...shared.policy, perPurchaseUnits: 1n, perDayUnits: 0n, askAboveUnits: 0n };
    const sellers = { deny: ['ada'] };
    const had = act({ policy: { ...policy, sellers }, maxPriceUsdc: 0 });
    await expect(had).resolves.toMatchObject({ paidUnits: 0n });
    expect([wallet.payments, buyer.paid(), await book.spentToday()]).toEqual([[], 0, 0n]);
    expect(await listSpends(book)).toMatchObject([{ state: 'settled', amount_usdc: 0, goods: 'intact' }]);
    expect(await act({ policy })).toMatchObject({ alreadyHere: true, paidUnits: 0n });
  });

  test('are not asked for at a market that the policy leaves out', async () => {
    const { act, wallet, shared } = await buyerBefore([asked]);
    const policy = { ...shared.policy, markets: ['https://market.example'] };
    await expect(act({ policy })).rejects.toMatchObject({ parts: { reason: 'market_not_allowed' } });
    expect(wallet.signed).toBe(0);
  });

  test('and that come without a transfer though one was signed: nothing was due, and it counts until it has run out', async () => {
    const { act, book, time } = await buyerBefore([asked, deliveryAnswer(7)]);
    expect(await act()).toMatchObject({ paidUnits: 0n });
    expect(await listSpends(book)).toMatchObject([{ state: 'settled', amount_usdc: 0 }]);
    expect(await book.spentToday()).toBe(PRICE);
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(0n);
  });

  test('what was paid for counts, however late', async () => {
    const { act, book, time } = await buyerBefore([asked, deliveryAnswer(7, { receipt: RECEIPT })]);
    expect(await act()).toMatchObject({ paidUnits: PRICE });
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(PRICE);
  });
});

describe('a signature that the market does not take', () => {
  const invalid = refusalAnswer('payment_invalid');
  const delegate = 'ab'.repeat(20);

  test('is found by one over nothing: no payment is signed, and the way by a transfer is named', async () => {
    const looks = [asked, refusalAnswer('payer_contract_refused')] as const;
    const { act, wallet, book } = await buyerBefore([asked], { looks });
    for (const more of [{}, { payAgain: true }])
      await expect(act(more)).rejects.toMatchObject(isRefused('payment_invalid', OTHER_WAY));
    expect([wallet.payments, await book.list(), await book.spentToday()]).toEqual([[], [], 0n]);
  });

  test('of an address with code names the code, where a node of the chain tells it', async () => {
    const codes: Hex[] = [`0xef0100${delegate}`, '0x6001'];
    for (const code of codes) {
      const { act } = await buyerBefore([asked, invalid]);
      const error = await act({ readCode: async () => code }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject(isRefused('payment_invalid', OTHER_WAY));
      expect(String(error)).toContain(code === '0x6001' ? 'the code at that address' : `0x${delegate}`);
    }
    for (const code of ['0x', null] as const) {
      const { act } = await buyerBefore([asked, invalid]);
      await expect(act({ readCode: async () => code })).rejects.toMatchObject({ name: 'MarketError' });
    }
  });

  test.each([
    ['by a reason of its own', { reason: 'payer_contract_refused' }],
    ['by a word that it is for good', { retry: 'never' }],
    ['by the reason of a key', { reason: 'signature_invalid', retry: 'after_fix' }],
    ['by the reason of a wallet that is not deployed', { reason: 'payer_not_deployed', retry: 'never' }],
  ])('is told %s at once', async (_, fields) => {
    const { act, wallet, book, time } = await buyerBefore([asked, refusalAnswer('payment_invalid', fields)]);
    for (const more of [{}, { payAgain: true }])
      await expect(act(more)).rejects.toMatchObject(isRefused('payment_invalid', OTHER_WAY));
    expect(wallet.payments).toHaveLength(1);
    await time.sleep(RUN_OUT_MS);
    expect([await book.spentToday(), (await book.list()).map(({ state }) => state)]).toEqual([0n, ['over']]);
  });

  test('twice in a row for the same terms: there is no third', async () => {
    const { act, wallet, book, time } = await buyerBefore([asked, invalid, invalid, asked, invalid]);
    await expect(act()).rejects.toMatchObject({ name: 'MarketError', reason: 'payment_invalid' });
    await time.sleep(121_000);
    await expect(act({ payAgain: true })).rejects.toMatchObject(isRefused('payment_invalid', OTHER_WAY));
    expect(wallet.payments).toHaveLength(2);
    await time.sleep(121_000);
    await expect(act({ payAgain: true })).rejects.toMatchObject(isRefused('payment_invalid', OTHER_WAY));
    expect(wallet.payments).toHaveLength(2);
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(0n);
  });

  test('for a fee: the same body is not signed for a second time that day', async () => {
    const fee = paymentRequiredAnswer({ payTo: TREASURY, units: '1000000' });
    const refused = refusalAnswer('payment_invalid', { retry: 'never' });
    const market = await startScriptedMarket(({ method, headers }) => {
      if (method === 'GET') return officialAnswer();
      return headers['payment-signature'] === undefined ? fee : refused;
    });
    onTestFinished(() => market[Symbol.asyncDispose]());
    const { shared, wallet, book, time } = await buyerBefore([asked]);
    const client = createClient({ baseUrl: market.baseUrl, key: 'k', environment: time });
    const goods = { title: 'Goods', description: 'd', preview: 'p', artifact: 'a' };
    const listing = { ...goods, price_usdc: 1, seller_wallet: SELLER };
    const sell = (payAgain: boolean) => sellGoods({ ...shared, client, listing, payAgain });
    for (const waitMs of [0, RUN_OUT_MS, 0]) {
      await time.sleep(waitMs);
      for (const payAgain of [false, true])
        await expect(sell(payAgain)).rejects.toMatchObject(
          isRefused('payment_invalid', expect.stringContaining('/api/fee-intent')),
        );
    }
    expect([wallet.payments.length, await book.spentToday()]).toEqual([1, 0n]);
  });
});

describe('a clock', () => {
  test('that the market does not take, though its answers showed no other, never leads to another payment', async () => {
    const expired = refusalAnswer('payment_invalid', { market_time: '2026-01-01T00:00:00.000Z' });
    const { act, wallet, book, time } = await buyerBefore([
      asked,
      expired,
      asked,
      deliveryAnswer(7, { receipt: RECEIPT }),
    ]);
    await expect(act()).rejects.toMatchObject(
      isRefused('clock_wrong', expect.stringContaining('Set this machine’s clock')),
    );
    for (const more of [{}, { payAgain: true }])
      await expect(act(more)).rejects.toMatchObject(isRefused('not_run_out'));
    expect(wallet.payments).toHaveLength(1);
    await time.sleep(RUN_OUT_MS);
    // The clock is right now, so this is an ordinary purchase.
    expect(await act()).toMatchObject({ paidUnits: PRICE });
    expect(await book.spentToday()).toBe(PRICE);
  });

  test('that is found wrong when it is asked whose the goods are', async () => {
    const expired = refusalAnswer('payment_invalid', { market_time: '2026-01-01T00:00:00.000Z' });
    const { act, wallet, book } = await buyerBefore([asked], { looks: [asked, expired] });
    await expect(act()).rejects.toMatchObject(isRefused('clock_wrong'));
    expect([wallet.payments, await book.list()]).toEqual([[], []]);
  });
});

describe('what ended unpaid by the market’s word', () => {
  test('counts while it may be carried out, and again once it was sent once more', async () => {
    const script = [asked, refusalAnswer('insufficient_funds'), pendingAnswer()];
    const { act, book, time } = await buyerBefore(script);
    await expect(act()).rejects.toMatchObject({ reason: 'insufficient_funds' });
    expect(await book.spentToday()).toBe(PRICE);
    await expect(act({ maxWaitSeconds: 0 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(PRICE);
  });

  test.each([
    ['unpaid', 0n],
    // The payment was reviewed and declined, so the payee has the money.
    ['rejected', PRICE],
  ] as const)('a payment that the books call %s counts %i units later', async (payment_status, counted) => {
    const { act, book, time } = await buyerBefore([asked, refusalAnswer('authorization_lapsed')], {
      payment: { payment_status },
    });
    await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
    await time.sleep(RUN_OUT_MS);
    expect(await book.spentToday()).toBe(counted);
  });

  test.each(['payment_required', 'authorization_used_elsewhere', 'needs_review'] as const)(
    '%s is no such word',
    async (reason) => {
      const { act, book, time } = await buyerBefore([
        asked,
        reason === 'payment_required' ? asked : refusalAnswer(reason),
      ]);
      await expect(act()).rejects.toBeInstanceOf(Error);
      await time.sleep(RUN_OUT_MS);
      expect(await book.spentToday()).toBe(PRICE);
    },
  );
});
