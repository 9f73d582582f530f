import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ARTIFACT,
  deliveryAnswer,
  listingAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
} from '../../../test/support/market-answers.ts';
import {
  collects,
  createTestTime,
  createTestWallet,
  nonceIn,
  type Reply,
  startScriptedMarket,
} from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { type BuyOptions, buy } from './buy.ts';

// A wallet must never pay for goods that it owns through an earlier purchase or an older version.

const asked = paymentRequiredAnswer({ payTo: SELLER, units: '2500000' });
const toCollect = paymentRequiredAnswer({ payTo: SELLER, units: '0' });
const no = refusalAnswer('nothing_to_collect');
const delivered = deliveryAnswer(7, { collected_by: 'signature' });

/** Runs a buyer at a market that answers collecting and buying by one script each, repeating the last answer. */
async function buyerBefore(script: { collecting: Reply[]; buying?: Reply[] }, listing: object = {}) {
  const counts = { collecting: 0, buying: 0 };
  const market = await startScriptedMarket((request) => {
    if (request.method === 'GET') return listingAnswer(7, listing);
    const kind = collects(request) ? 'collecting' : 'buying';
    const replies = script[kind] ?? [];
    return replies[Math.min(counts[kind]++, replies.length - 1)] ?? 'cut';
  });
  onTestFinished(() => market[Symbol.asyncDispose]());
  const [time, wallet] = [createTestTime(), createTestWallet()];
  const phases: string[] = [];
  const client = createClient({ baseUrl: market.baseUrl, environment: time });
  const options = { client, wallet, listingId: 7, maxPriceUsdc: 3 };
  const act = (more: Partial<BuyOptions> = {}) =>
    buy({ ...options, onProgress: ({ phase }) => phases.push(phase), ...more });
  return { act, wallet, phases, sent: () => market.seen.filter(({ method }) => method === 'POST') };
}

describe('before anything is signed over money', () => {
  test.each([null, 6])(
    'goods that are the wallet’s come by a signature over nothing (older version: %s)',
    async (supersedes) => {
      const { act, wallet, phases, sent } = await buyerBefore({ collecting: [toCollect, delivered] }, { supersedes });
      expect((await act()).artifact).toBe(ARTIFACT);
      expect([wallet.signed, wallet.payments]).toEqual([1, []]);
      expect(sent().every(collects)).toBe(true);
      expect(phases).toEqual(['delivered']);
    },
  );

  test('a key that shows it needs no signature at all', async () => {
    const { act, wallet } = await buyerBefore({ collecting: [deliveryAnswer(7, { collected_by: 'key' })] });
    await act();
    expect(wallet.signed).toBe(0);
  });

  test('after the market’s no it is bought as ever, with one payment', async () => {
    const { act, wallet, phases, sent } = await buyerBefore({
      collecting: [toCollect, no],
      buying: [asked, delivered],
    });
    await act();
    expect([wallet.signed, wallet.payments.length]).toEqual([2, 1]);
    expect(
      sent()
        .slice(2)
        .map(({ body }) => body),
    ).toEqual([{ max_price_usdc: 3 }, { max_price_usdc: 3 }]);
    expect(phases).toEqual(['signed', 'submitted', 'delivered']);
  });

  test('a payment of this wallet that is under way is waited for, and none is made', async () => {
    const { act, wallet } = await buyerBefore({ collecting: [toCollect, pendingAnswer(), pendingAnswer(), delivered] });
    await act();
    expect(wallet.payments).toEqual([]);
  });

  test.each([
    ['a review', refusalAnswer('needs_review'), 'needs_review'],
    ['a lost listing', refusalAnswer('listing_lost'), 'listing_lost'],
    ['a chain that cannot be read', refusalAnswer('payment_check_unavailable'), 'payment_check_unavailable'],
  ])('%s is no no: nothing is bought', async (_, refused, reason) => {
    const { act, wallet } = await buyerBefore({ collecting: [toCollect, refused], buying: [asked, delivered] });
    await expect(act()).rejects.toMatchObject({ reason });
    expect(wallet.payments).toEqual([]);
  });

  test('a market that does not take the signature leaves open what is due for a newer version, and only for that', async () => {
    const script = { collecting: [toCollect, refusalAnswer('payment_invalid')], buying: [asked, delivered] };
    const newer = await buyerBefore(script, { supersedes: 6 });
    await expect(newer.act()).rejects.toMatchObject({ reason: 'payment_invalid' });
    expect(newer.wallet.payments).toEqual([]);
    const other = await buyerBefore(script);
    await other.act();
    expect(other.wallet.payments).toHaveLength(1);
  });

  test('so does one that is reached under another name', async () => {
    const elsewhere = { ...(toCollect as object), ...renamed() } as Reply;
    const script = { collecting: [elsewhere], buying: [asked, delivered] };
    const newer = await buyerBefore(script, { supersedes: 6 });
    await expect(newer.act()).rejects.toMatchObject({ why: 'other_market' });
    const other = await buyerBefore(script);
    await other.act();
    expect([newer.wallet.signed, other.wallet.payments.length]).toEqual([0, 1]);
  });
});

function renamed(): { body: object } {
  const { body } = toCollect as { body: object };
  return { body: { ...body, collect: { base_url: 'https://other.example' } } };
}

describe('who is asked for each signature', () => {
  test('newer_versions asks only where there is an older version, and never asks never', async () => {
    const script = { collecting: [toCollect, no], buying: [asked, delivered] };
    const looks = async (collectFirst: BuyOptions['collectFirst'], supersedes: number | null) => {
      const { act, sent } = await buyerBefore(script, { supersedes });
      await act(collectFirst === undefined ? {} : { collectFirst });
      return sent().filter(collects).length;
    };
    expect(await looks('newer_versions', null)).toBe(0);
    expect(await looks('newer_versions', 6)).toBe(2);
    expect(await looks('never', 6)).toBe(0);
    expect(await looks(undefined, null)).toBe(2);
  });

  test('a payment that is saved goes on without a look', async () => {
    const { act, wallet, sent } = await buyerBefore({ collecting: [toCollect, no], buying: [asked, 'cut', delivered] });
    await expect(act({ maxWaitSeconds: 0 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
    const before = sent().length;
    await act();
    expect([wallet.payments.length, sent().slice(before).some(collects)]).toEqual([1, false]);
    expect(nonceIn(sent().at(-1) as never)).toBe(wallet.payments[0]?.nonce);
  });
});

describe('one’s own goods', () => {
  test('are not bought by the wallet that they are sold by', async () => {
    const wallet = createTestWallet();
    const listing = { seller_wallet: wallet.address };
    const { act, sent } = await buyerBefore({ collecting: [toCollect, no], buying: [asked, delivered] }, listing);
    await expect(act({ wallet })).rejects.toMatchObject({
      ...{ name: 'TermsRefused', why: 'own_goods' },
      nextStep: expect.stringContaining('a wallet that doesn’t belong to this seller'),
    });
    expect([wallet.signed, sent()]).toEqual([0, []]);
  });

  test('that are free are handed out like all that is free', async () => {
    const wallet = createTestWallet();
    const listing = { seller_wallet: wallet.address, price_usdc: 0 };
    const { act } = await buyerBefore({ collecting: [no], buying: [delivered] }, listing);
    expect((await act({ wallet })).artifact).toBe(ARTIFACT);
  });
});
