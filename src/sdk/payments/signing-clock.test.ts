import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createTransferWallet,
  intentAnswer,
  buyerBefore as transferBuyerBefore,
} from '../../../test/support/intent-answers.ts';
import {
  deliveryAnswer,
  listingAnswer,
  officialAnswer,
  paymentRequiredAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../../test/support/market-answers.ts';
import {
  createTestTime,
  createTestWallet,
  type Reply,
  startScriptedMarket,
} from '../../../test/support/scripted-market.ts';
import { createClient } from '../client.ts';
import { type BuyOptions, buy } from './buy.ts';
import { listGoods } from './list-goods.ts';

const START_MS = 1_800_000_000_000;
const START = START_MS / 1_000;
const MINUTE = 60;
/** Longest window that a market may ask for. */
const LONGEST_WINDOW = 600;

/** Returns the reply of a market whose clock is this far ahead of ours. */
function dated(reply: Reply, seconds: number): Reply {
  return withDate(reply, new Date(START_MS + seconds * 1_000).toUTCString());
}

function withDate(reply: Reply, date: string): Reply {
  return reply === 'cut' ? reply : { ...reply, headers: { ...reply.headers, date } };
}

const asked = (maxTimeoutSeconds = 120) =>
  paymentRequiredAnswer({ payTo: SELLER, units: '2500000', maxTimeoutSeconds });

/** Runs a buyer at a market that answers purchases by the script, repeating its last answer. */
async function buyerBefore(script: Reply[], options: Partial<BuyOptions> = {}) {
  let bought = 0;
  const market = await startScriptedMarket(({ method }) => {
    // A cache may answer these with an old date.
    if (method === 'GET') return dated(listingAnswer(7), -86_400);
    bought += 1;
    return script[Math.min(bought, script.length) - 1] ?? 'cut';
  });
  onTestFinished(() => market[Symbol.asyncDispose]());
  const [time, wallet] = [createTestTime(START_MS), createTestWallet()];
  const client = createClient({ baseUrl: market.baseUrl, environment: time });
  const base: BuyOptions = { client, wallet, listingId: 7, maxPriceUsdc: 3, collectFirst: 'never', ...options };
  return { act: (more: Partial<BuyOptions> = {}) => buy({ ...base, ...more }), wallet, time, market };
}

describe('what is signed ends by the market’s clock', () => {
  test.each([-15 * MINUTE, -3 * MINUTE, 0, 3 * MINUTE, 15 * MINUTE])('which is %i s from ours', async (ahead) => {
    const { act, wallet } = await buyerBefore([dated(asked(), ahead), deliveryAnswer(7)]);
    await act();
    expect(wallet.payments.map(({ validBefore }) => validBefore)).toEqual([BigInt(START + ahead + 120)]);
  });

  test('and by ours where the market shows none that can be read', async () => {
    for (const date of ['', 'yesterday', '2026-01-01T00:00:00Z']) {
      const { act, wallet } = await buyerBefore([withDate(asked(), date), deliveryAnswer(7)]);
      await act();
      expect(wallet.payments[0]?.validBefore).toBe(BigInt(START + 120));
    }
  });

  test.each([1, 2] as const)(
    'v%i: and never outlives our own clock by more than the bound and the longest window',
    async (x402Version) => {
      for (const ahead of [15 * MINUTE, 15 * MINUTE + 1, 86_400, 10 ** 9]) {
        const { act, wallet } = await buyerBefore([dated(asked(LONGEST_WINDOW), ahead), deliveryAnswer(7)], {
          x402Version,
        });
        await act().catch(() => null);
        for (const { validBefore } of wallet.payments)
          expect(Number(validBefore)).toBeLessThanOrEqual(START + 15 * MINUTE + LONGEST_WINDOW);
        expect(wallet.payments).toHaveLength(ahead <= 15 * MINUTE ? 1 : 0);
      }
    },
  );
});

describe('clocks that are more than 15 minutes apart', () => {
  test.each([-16 * MINUTE, 16 * MINUTE])('(%i s) sign nothing, and the error names both times', async (ahead) => {
    const { act, wallet } = await buyerBefore([dated(asked(), ahead), deliveryAnswer(7)]);
    const error = await act().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: 'TermsRefused',
      why: 'clock_wrong',
      nextStep: expect.stringContaining('clock'),
    });
    for (const ms of [START_MS, START_MS + ahead * 1_000])
      expect(String(error)).toContain(new Date(ms).toISOString().slice(0, 19));
    expect(wallet.signed).toBe(0);
  });

  test('do not collect either', async () => {
    const { act, wallet } = await buyerBefore([dated(asked(), 16 * MINUTE)], { collectOnly: true });
    await expect(act()).rejects.toMatchObject({ why: 'clock_wrong' });
    expect(wallet.signed).toBe(0);
  });

  test('list nothing', async () => {
    const fee = paymentRequiredAnswer({ payTo: TREASURY, units: '1000000' });
    const market = await startScriptedMarket(({ method }) =>
      method === 'GET' ? officialAnswer() : dated(fee, 16 * MINUTE),
    );
    onTestFinished(() => market[Symbol.asyncDispose]());
    const wallet = createTestWallet();
    const client = createClient({ baseUrl: market.baseUrl, key: 'k', environment: createTestTime(START_MS) });
    const goods = { title: 'Goods', description: 'd', preview: 'p', artifact: 'a' };
    const listing = { ...goods, price_usdc: 1, seller_wallet: SELLER };
    await expect(listGoods({ client, wallet, listing })).rejects.toMatchObject({ why: 'clock_wrong' });
    expect(wallet.signed).toBe(0);
  });

  test.each([-16, 16])(
    '(%i min) send no transfer; near ones judge the time that is left by the market’s',
    async (minutes) => {
      const paying = async (ahead: number) => {
        const wallet = createTransferWallet();
        const intent = intentAnswer({ payer: wallet.address, nowMs: START_MS + ahead * 1_000 });
        return await transferBuyerBefore({ wallet, intents: [dated(intent, ahead)] });
      };
      const far = await paying(minutes * MINUTE);
      await expect(far.act()).rejects.toMatchObject({
        why: 'clock_wrong',
        message: expect.stringMatching(/nothing was sent$/),
      });
      const near = await paying(Math.sign(minutes) * 14 * MINUTE);
      await near.act();
      expect([far.wallet.sent.length, near.wallet.sent.length]).toEqual([0, 1]);
    },
  );
});

describe('a payment is over only when it is by both clocks', () => {
  const lapsed = (ahead: number) => dated(refusalAnswer('authorization_lapsed'), ahead);

  test('a market that moves its clock on gets no second signature while the first can be carried out', async () => {
    const script = [dated(asked(), 0), lapsed(14 * MINUTE), dated(asked(), 14 * MINUTE), deliveryAnswer(7)];
    const { act, wallet } = await buyerBefore(script, { mayPayAgain: true });
    await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
    expect(wallet.payments).toHaveLength(1);
  });

  test('nor does one whose clock is behind ours, before it has run out there', async () => {
    const behind = -10 * MINUTE;
    const script = [dated(asked(), behind), lapsed(behind), lapsed(behind + 130), asked(), deliveryAnswer(7)];
    const { act, wallet } = await buyerBefore(script, { mayPayAgain: true });
    // By our clock, the authorization had expired when it was signed.
    await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
    expect(wallet.payments).toHaveLength(1);
    await act();
    expect(wallet.payments).toHaveLength(2);
  });
});
