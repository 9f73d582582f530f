import { describe, expect, it, onTestFinished } from 'vitest';
import { buyerBefore as transferBuyerBefore } from '../../../test/support/intent-answers.ts';
import {
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
} from '../../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  nonceIn,
  noncesToSettle,
  type Reply,
  type SeenRequest,
  startScriptedMarket,
} from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { type BuyOptions, buy } from './buy.ts';
import { listGoods } from './list-goods.ts';
import { createMemoryProofStore } from './proof-store.ts';

// In these tests the market has lost some of its records, or has recovered from such a loss.

const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });
const delivered = deliveryAnswer(7);
const lost = refusalAnswer('history_lost', { retry_after_seconds: 60, do_not_pay_again: true });
const FOUND = { tx_hash: `0x${'c3'.repeat(32)}`, block: 70 };
const mayBeLost = refusalAnswer('payment_may_be_lost', { do_not_pay_again: true, ...FOUND });
const usedElsewhere = refusalAnswer('authorization_used_elsewhere', { do_not_pay_again: true });

async function buyerBefore(script: Reply[], options: Partial<BuyOptions> = {}) {
  let bought = 0;
  const market = await startScriptedMarket((request) => {
    if (request.method === 'GET') return listingAnswer(7);
    bought += 1;
    return script[Math.min(bought, script.length) - 1] ?? 'cut';
  });
  onTestFinished(() => market[Symbol.asyncDispose]());
  const [time, wallet, proofStore] = [createTestTime(), createTestWallet(), createMemoryProofStore()];
  const reasons: unknown[] = [];
  const client = createClient({ baseUrl: market.baseUrl, environment: time });
  const base: BuyOptions = {
    client,
    wallet,
    listingId: 7,
    maxPriceUsdc: 3,
    proofStore,
    collectFirst: 'never',
    ...options,
  };
  return {
    ...{ time, wallet, reasons },
    act: (more: Partial<BuyOptions> = {}) =>
      buy({ ...base, onProgress: ({ reason }) => reasons.push(reason), ...more }),
    sent: () => market.seen.filter(({ method }) => method === 'POST'),
    saved: () => proofStore.load(`${market.baseUrl} buy 7 ${wallet.address.toLowerCase()}`),
  };
}

describe('buying by x402', () => {
  it('while history is lost nothing is signed, also not where the caller allows another payment', async () => {
    const { act, wallet } = await buyerBefore([lost]);
    const more = { mayPayAgain: true, payAnew: true };
    await expect(act(more)).rejects.toMatchObject({ reason: 'history_lost', doNotPayAgain: true });
    expect(wallet.signed).toBe(0);
  });

  it('what was signed before is sent until the books are there again, and nothing else', async () => {
    const { act, wallet, sent, time, reasons } = await buyerBefore([asked, lost, lost, lost, lost, lost, delivered]);
    await act({ mayPayAgain: true });
    expect(wallet.signed).toBe(1);
    expect(noncesToSettle(sent()).size).toBe(1);
    expect(time.slept).toEqual([60, 60, 60, 60, 60]);
    expect(reasons.filter((reason) => reason === 'history_lost')).toHaveLength(5);
  });

  it.each([
    ['authorization_used_elsewhere', usedElsewhere],
    ['listing_lost', refusalAnswer('listing_lost', { do_not_pay_again: true })],
    [
      'a reason that is not known here',
      refusalAnswer('authorization_used_elsewhere', { reason: 'from_tomorrow', do_not_pay_again: true }),
    ],
  ])('%s that says do_not_pay_again stops it, with the proof kept, however often it is called', async (_, refused) => {
    const { act, wallet, sent, saved, time } = await buyerBefore([asked, refused]);
    for (let round = 0; round < 3; round += 1) {
      await expect(act({ mayPayAgain: true, payAnew: true })).rejects.toMatchObject({ doNotPayAgain: true });
      // Wait until the first authorization has expired.
      await time.sleep(300_000);
    }
    expect(wallet.signed).toBe(1);
    expect(noncesToSettle(sent()).size).toBe(1);
    expect(await saved()).not.toBeNull();
  });

  it('a payment that may be lost is an error that says what was found, until the caller says payAnew', async () => {
    const { act, wallet, sent, saved } = await buyerBefore([asked, mayBeLost, mayBeLost, delivered]);
    for (let round = 0; round < 2; round += 1) {
      const thrown = act({ mayPayAgain: true });
      await expect(thrown).rejects.toMatchObject({
        ...{ name: 'PaymentMayBeLost', doNotPayAgain: true },
        ...{ txHash: FOUND.tx_hash, block: FOUND.block, cause: { reason: 'payment_may_be_lost' } },
      });
      await expect(thrown).rejects.toThrow('payAnew: true');
    }
    expect(await saved()).not.toBeNull();
    await act({ payAnew: true });
    expect(sent().map(({ body }) => body)).toEqual([
      ...Array.from({ length: 3 }, () => ({ max_price_usdc: 3 })),
      { max_price_usdc: 3, pay_anew: true },
    ]);
    expect(wallet.signed).toBe(1);
    expect(noncesToSettle(sent()).size).toBe(1);
  });

  it('where what was signed has run out, payAnew counts for the earlier payment as well', async () => {
    const script = [
      asked,
      mayBeLost,
      refusalAnswer('payment_invalid'),
      refusalAnswer('payment_invalid'),
      asked,
      delivered,
    ];
    const { act, wallet, sent, time } = await buyerBefore(script);
    await expect(act()).rejects.toMatchObject({ name: 'PaymentMayBeLost' });
    await time.sleep(300_000);
    await expect(act({ payAnew: true })).rejects.toMatchObject({ reason: 'payment_invalid' });
    expect(wallet.signed).toBe(1);
    await act({ payAnew: true, mayPayAgain: true });
    expect(wallet.signed).toBe(2);
    expect(sent().at(-1)?.body).toEqual({ max_price_usdc: 3, pay_anew: true });
    const last = sent().at(-1);
    expect(last && nonceIn(last)).not.toBe(nonceIn(sent()[1] as never));
  });
});

describe('the slip of a payment by x402', () => {
  const slips = (sent: SeenRequest[]) => sent.map(({ headers }) => headers['x-recovery-slip']);
  const [unseen, waiting] = [
    refusalAnswer('settlement_pending', { retry_after_seconds: 1, recovery_slip: 'rs1_one' }),
    pendingAnswer({ recovery_slip: 'rs1_two' }),
  ];

  it('is sent once what was asked is refused, and not before', async () => {
    const { act, wallet, sent } = await buyerBefore([asked, unseen, waiting, 'cut', usedElsewhere, delivered]);
    await act();
    expect(slips(sent())).toEqual([undefined, undefined, undefined, undefined, undefined, 'rs1_two']);
    expect(sent().at(-1)?.body).toEqual(sent()[1]?.body);
    expect(noncesToSettle(sent()).size).toBe(1);
    expect(wallet.signed).toBe(1);
  });

  it('is kept from answers of any status, and a market that knows nothing by it either is not asked for ever', async () => {
    const script = [asked, unseen, usedElsewhere];
    const { act, wallet, sent, saved } = await buyerBefore(script, { maxWaitSeconds: 0 });
    await expect(act()).rejects.toMatchObject({ name: 'PaymentUndecided' });
    expect(await saved()).toMatchObject({ recovery_slip: 'rs1_one' });
    await expect(act({ mayPayAgain: true })).rejects.toMatchObject({ reason: 'authorization_used_elsewhere' });
    expect(slips(sent())).toEqual([undefined, undefined, undefined, 'rs1_one']);
    expect(wallet.signed).toBe(1);
    expect(await saved()).not.toBeNull();
  });

  it('is that of the payment, not of one that ended before it', async () => {
    const script = [asked, waiting, refusalAnswer('authorization_lapsed'), asked, usedElsewhere];
    const { act, sent, time, saved } = await buyerBefore(script, { maxWaitSeconds: 0 });
    await expect(act()).rejects.toMatchObject({ name: 'PaymentUndecided' });
    await time.sleep(300_000);
    await expect(act({ mayPayAgain: true })).rejects.toMatchObject({ reason: 'authorization_used_elsewhere' });
    expect(slips(sent()).filter((slip) => slip !== undefined)).toEqual([]);
    expect(await saved()).not.toHaveProperty('recovery_slip');
  });

  it('of what was bought before is sent at once, and nothing that could pay is signed', async () => {
    const recoverySlip = 'rs1_old';
    const { act, wallet, sent } = await buyerBefore([asked, delivered]);
    await act({ recoverySlip, mayPayAgain: true });
    expect(sent().map(({ body }) => body)).toEqual([
      { collect: true },
      { collect: true, collect_salt: expect.stringMatching(/^0x/) },
    ]);
    expect(slips(sent())).toEqual([recoverySlip, recoverySlip]);
    expect([wallet.signed, noncesToSettle(sent()).size]).toEqual([1, 0]);
  });

  it('of a listing is sent at once, and where a fee is asked for all the same nothing is signed', async () => {
    const market = await startScriptedMarket(({ method }) => (method === 'GET' ? officialAnswer() : asked));
    onTestFinished(() => market[Symbol.asyncDispose]());
    const wallet = createTestWallet();
    const client = createClient({ baseUrl: market.baseUrl, key: 'k', environment: createTestTime() });
    const listing = {
      title: 'Goods',
      description: 'd',
      preview: 'p',
      artifact: 'a',
      price_usdc: 1,
      seller_wallet: SELLER,
    };
    const again = listGoods({ client, wallet, listing, recoverySlip: 'rs1_old', mayPayAgain: true });
    await expect(again).rejects.toMatchObject({ reason: 'payment_required' });
    expect(wallet.signed).toBe(0);
    expect(slips(market.seen.filter(({ method }) => method === 'POST'))).toEqual(['rs1_old']);
  });
});

describe('buying by a transfer', () => {
  it.each([
    ['history_lost', lost, { reason: 'history_lost' }],
    ['listing_lost', refusalAnswer('listing_lost', { do_not_pay_again: true }), { reason: 'listing_lost' }],
    ['payment_may_be_lost', mayBeLost, { name: 'PaymentMayBeLost', txHash: FOUND.tx_hash }],
  ])('%s sends nothing', async (_, refused, error) => {
    const { act, wallet, asked: sent } = await transferBuyerBefore({ intents: [refused] });
    await expect(act()).rejects.toMatchObject({ doNotPayAgain: true, ...error });
    expect(wallet.sent).toEqual([]);
    expect(sent('/api/purchase-intent/')).toHaveLength(1);
  });

  it('pays again where payAnew says so', async () => {
    const { act, wallet, asked: sent } = await transferBuyerBefore({});
    await act({ payAnew: true });
    expect(sent('/api/purchase-intent/')[0]?.body).toMatchObject({ pay_anew: true });
    expect(wallet.sent).toHaveLength(1);
  });

  it.each([
    ['history_lost', lost, { doNotPayAgain: true }],
    ['listing_lost', refusalAnswer('listing_lost', { do_not_pay_again: true }), { reason: 'listing_lost' }],
    ['a lost intent', refusalAnswer('intent_not_found'), { reason: 'intent_not_found' }],
  ])('%s to a claim keeps the transfer, and sends no other', async (_, refused, error) => {
    const { act, wallet, store, storeKey } = await transferBuyerBefore({ claims: [refused] }, { maxWaitSeconds: 200 });
    for (let round = 0; round < 2; round += 1) {
      await expect(act({ payAnew: true })).rejects.toMatchObject(error);
    }
    expect(wallet.sent).toHaveLength(1);
    expect(await store.load(storeKey)).toMatchObject({ tx_hash: expect.stringMatching(/^0x/) });
  });

  it('an intent that the market does not know is shown with its slip, and only then', async () => {
    const { act, asked: sent } = await transferBuyerBefore({
      claims: [lost, refusalAnswer('intent_not_found'), delivered],
    });
    await act();
    const slips = sent('/api/claim/').map(({ headers }) => headers['x-recovery-slip']);
    expect(slips).toEqual([undefined, undefined, 'a slip']);
  });
});
