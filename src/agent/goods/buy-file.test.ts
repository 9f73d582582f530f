import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { asked, buyerBefore, fileAnswer, type Told } from '../../../test/support/agent-buyer.ts';
import { ARTIFACT, deliveryAnswer, pendingAnswer, refusalAnswer } from '../../../test/support/market-answers.ts';
import { noncesToSettle, type Reply } from '../../../test/support/scripted-market.ts';

const headers = { 'content-type': 'application/octet-stream' };
const WHOLE: Reply = { status: 200, headers, body: ARTIFACT };
const NOT_HERE = { trouble: 'unknown', parts: { reason: 'goods_not_arrived', doNotPayAgain: true } };

test.each<[string, Reply]>([
  ['breaks off', 'cut'],
  ['is refused', refusalAnswer('payment_not_found')],
  ['turns into something else', { status: 200, headers, body: `${ARTIFACT} and more` }],
])('a paid file that %s is said to be paid for, and comes by the same command', async (_, fault) => {
  let isWell = false;
  const { act, wallet, paid } = await buyerBefore([asked, fileAnswer()], { file: () => (isWell ? WHOLE : fault) });
  await expect(act()).rejects.toMatchObject(NOT_HERE);
  isWell = true;
  const { path, paidUnits } = await act();
  expect(await readFile(path, 'utf8')).toBe(ARTIFACT);
  expect([paidUnits, wallet.payments.length, paid()]).toEqual([2_500_000n, 1, 1]);
});

test('a market whose terms are wrong when the paid file is collected again doesn’t hide the payment', async () => {
  let fields = {};
  const file = () => {
    fields = { price_usdc: 0.0000001 };
    return refusalAnswer('payment_required');
  };
  const { act, wallet } = await buyerBefore([asked, fileAnswer()], { file, listing: () => fields });
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject(NOT_HERE);
  expect(error).toMatchObject({ message: expect.stringContaining('nothing was signed') });
  expect(wallet.payments).toHaveLength(1);
});

test('a download that the owner stops after the payment says that the goods are paid for', async () => {
  const stopping = new AbortController();
  const file = (): Reply => {
    stopping.abort();
    return 'cut';
  };
  const { act } = await buyerBefore([asked, fileAnswer({ receipt: null })], { file });
  await expect(act({ signal: stopping.signal })).rejects.toMatchObject({
    parts: { reason: 'goods_under_way', doNotPayAgain: true },
  });
});

test('goods that the wallet owns are not paid for because their download is refused', async () => {
  const looks = [asked, fileAnswer()] as const;
  const { act, wallet, paid } = await buyerBefore([asked], { looks, file: () => refusalAnswer('nothing_to_collect') });
  await expect(act()).rejects.toMatchObject(NOT_HERE);
  expect([wallet.payments.length, paid()]).toEqual([0, 0]);
});

test('a file of another listing is reported without being downloaded', async () => {
  const { act, seen } = await buyerBefore([asked, fileAnswer({ listing_id: 8 })]);
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ trouble: 'unknown', parts: { reason: 'goods_mismatch', doNotPayAgain: true } });
  expect((error as { parts: object }).parts).toMatchObject({ file: undefined });
  expect(seen.filter(({ path }) => path.startsWith('/api/download'))).toEqual([]);
});

test('collecting alone never sends a signed payment, and gets the goods once the market has them as bought', async () => {
  let look: Reply = refusalAnswer('nothing_to_collect');
  const told: Told = { looks: [asked, () => look] };
  const { act, book, wallet, seen, paid } = await buyerBefore([asked, pendingAnswer()], told);
  await expect(act({ maxWaitSeconds: 1 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
  const sent = seen.filter((request) => noncesToSettle([request]).size > 0).length;
  const collect = () => act({ collectOnly: true, maxPriceUsdc: 0 });
  const unfinished = { trouble: 'unknown', parts: { reason: 'payment_under_way', doNotPayAgain: true } };
  await expect(collect()).rejects.toMatchObject(unfinished);
  look = deliveryAnswer(7);
  expect(await readFile((await collect()).path, 'utf8')).toBe(ARTIFACT);
  expect(seen.filter((request) => noncesToSettle([request]).size > 0)).toHaveLength(sent);
  expect([wallet.payments.length, paid()]).toEqual([1, 1]);
  expect((await book.list()).map(({ state }) => state)).toEqual(['settled']);
});

test.each<[Reply, object]>([
  [refusalAnswer('nothing_to_collect'), { parts: { reason: 'no_purchase' } }],
  [asked, { reason: 'payment_required' }],
  [refusalAnswer('internal_error'), { reason: 'internal_error' }],
])('only a market that has no purchase is taken to say so (%#)', async (look, expected) => {
  const { act, wallet } = await buyerBefore([asked], { looks: [asked, look] });
  await expect(act({ collectOnly: true, maxPriceUsdc: 0 })).rejects.toMatchObject(expected);
  expect(wallet.payments).toEqual([]);
});
