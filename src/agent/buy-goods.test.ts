import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { asked, buyerBefore, RECEIPT } from '../../test/support/agent-buyer.ts';
import {
  ARTIFACT,
  deliveryAnswer,
  paymentRequiredAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
} from '../../test/support/market-answers.ts';
import { nonceIn, type Reply, type SeenRequest } from '../../test/support/scripted-market.ts';
import { commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import type { BuyGoodsOptions } from './buy-goods.ts';
import { listSpends } from './list-purchases.ts';
import { openSpendBook } from './spend-book.ts';

const QUARTER_MS = 900_000;

test('goods that are not what was promised are kept as evidence, and never paid for a second time', async () => {
  const wrong = deliveryAnswer(7, { artifact: 'something else' });
  const { act, wallet, book, paid } = await buyerBefore([asked, wrong, asked, asked]);
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'AgentError', trouble: 'unknown', parts: { reason: 'goods_mismatch' } });
  const { file } = (error as { parts: { file: string } }).parts;
  expect(await readFile(file, 'utf8')).toBe('something else');
  expect((await book.list()).map(({ state }) => state)).toEqual(['settled']);
  // From here on the market claims that nothing was bought.
  await expect(act()).rejects.toMatchObject({ reason: 'payment_required' });
  expect([wallet.payments.length, paid()]).toEqual([1, 1]);
});

test.each([{}, { payAgain: true }])('goods that are here are given again and never paid for (%j)', async (more) => {
  for (const receipt of [RECEIPT, null]) {
    const { act, wallet, paid } = await buyerBefore([asked, deliveryAnswer(7, { receipt }), asked]);
    const { path } = await act();
    expect(await readFile(path, 'utf8')).toBe(ARTIFACT);
    expect(await act(more)).toMatchObject({ path, alreadyHere: true });
    await rm(path);
    // The market asks for money again and gets none.
    await expect(act(more)).rejects.toMatchObject({ reason: 'payment_required' });
    expect([wallet.payments.length, paid()]).toEqual([1, 1]);
  }
});

test('goods that were paid for and lost come by a signature that moves nothing, and are held to what was promised first', async () => {
  let promised = {};
  const other = deliveryAnswer(7, { artifact: 'other goods', receipt: { ...RECEIPT, payment_id: 10 } });
  const lost = await buyerBefore(
    [asked, deliveryAnswer(7, { receipt: RECEIPT }), asked, other, asked, deliveryAnswer(7, { receipt: RECEIPT })],
    { listing: () => promised },
  );
  const { act, wallet, book, paid } = lost;
  const { path, goods } = await act();
  await rm(path);
  // Now the market has replaced both the goods and the commitment.
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
  expect([paid(), wallet.payments.length]).toEqual([1, 1]);
});

test('what a market sends beyond all measure does not make the book unreadable', async () => {
  const slip = 's'.repeat(9_000_000);
  const script = [asked, pendingAnswer({ recovery_slip: slip }), deliveryAnswer(7, { recovery_slip: slip })];
  const { act, book } = await buyerBefore(script, { listing: () => ({ title: 'x'.repeat(1_000_000) }) });
  await act();
  const [record] = await book.list();
  expect([record?.title.length, record?.delivery?.recovery_slip]).toEqual([240, null]);
});

test('a market that asks again after it was shown a signature has not refused it: the outcome is not known', async () => {
  const { act, book, wallet } = await buyerBefore([asked, asked, deliveryAnswer(7, { receipt: RECEIPT })]);
  const error = await act().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ trouble: 'unknown', parts: { reason: 'payment_undecided', doNotPayAgain: true } });
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
  expect(await act()).toMatchObject({ paidUnits: 2_500_000n });
  expect(wallet.payments).toHaveLength(1);
});

test('after a payment a disk that takes no goods leaves it open, and says so', async () => {
  const { act, book, wallet, home } = await buyerBefore([asked, deliveryAnswer(7, { receipt: RECEIPT })]);
  const folder = join(home, 'taken');
  // A folder blocks the name of the goods' temporary file.
  await mkdir(join(folder, '7-Goods.tmp'), { recursive: true });
  const error = await act({ outDir: folder }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ trouble: 'unknown', parts: { reason: 'not_kept', doNotPayAgain: true } });
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
  await rm(folder, { recursive: true });
  expect(await act({ outDir: folder })).toMatchObject({ paidUnits: 2_500_000n });
  expect(wallet.payments).toHaveLength(1);
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
  const { act, wallet, book } = await buyerBefore([otherTerms], { listing });
  await expect(act()).rejects.toMatchObject({ name: expect.stringMatching(/^(?:TermsRefused|PolicyRefused)$/) });
  expect([wallet.payments, await book.list()]).toEqual([[], []]);
});

test('a payment that lapsed is paid once more only where that is allowed, and counts no longer', async () => {
  const nonces = new Set<string | null>();
  const judge = (request: SeenRequest): Reply => {
    const nonce = nonceIn(request);
    if (nonce === null) return asked;
    return nonces.add(nonce).size === 1
      ? refusalAnswer('authorization_lapsed')
      : deliveryAnswer(7, { receipt: RECEIPT });
  };
  const { act, wallet, book, time } = await buyerBefore([judge], { payment: { payment_status: 'unpaid' } });
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  const unasked = await act().catch((error: unknown) => error);
  expect([wallet.payments.length, unasked]).toMatchObject([1, { reason: 'authorization_lapsed' }]);
  // Clocks may differ by 15 minutes, so the signature may still be executed up to 15 minutes after it expires.
  expect(await book.spentToday()).toBe(2_500_000n);
  await act({ payAgain: true });
  expect(wallet.payments).toHaveLength(2);
  expect(await book.spentToday()).toBe(5_000_000n);
  await time.sleep(QUARTER_MS);
  expect((await book.list()).map(({ state, sequence }) => [state, sequence]).toSorted()).toEqual([
    ['over', 1],
    ['settled', 2],
  ]);
  expect(await book.spentToday()).toBe(2_500_000n);
});

test.each<[string, Partial<BuyGoodsOptions>, object, string]>([
  ['by a lower limit of the policy', {}, { perPurchaseUnits: 1_000_000n }, 'above_per_purchase'],
  ['by a seller who was denied since', {}, { sellers: { deny: ['ada'] } }, 'seller_not_allowed'],
  ['by a person who says no', { confirm: async () => false }, { askAboveUnits: 1n }, 'not_confirmed'],
  ['by the most that the caller allows', { maxPriceUsdc: 1 }, {}, 'above_max_price'],
])('another payment is judged as the first one was: it is refused %s', async (_, more, changed, reason) => {
  const lapsed = refusalAnswer('authorization_lapsed');
  const { act, wallet, book, time, shared } = await buyerBefore([asked, lapsed, lapsed, asked]);
  await expect(act()).rejects.toMatchObject({ reason: 'authorization_lapsed' });
  await time.sleep(121_000);
  const policy = { ...shared.policy, ...changed };
  await expect(act({ payAgain: true, policy, ...more })).rejects.toMatchObject({
    name: 'PolicyRefused',
    parts: { reason },
  });
  expect(wallet.payments).toHaveLength(1);
  expect((await book.list()).map(({ state }) => state)).toEqual(['signed']);
});

const toCollect = paymentRequiredAnswer({ payTo: SELLER, units: '0' });

test('at a market that the policy leaves out nothing is signed: not for free goods, and not to collect again', async () => {
  const free = { listing: () => ({ price_usdc: 0 }) };
  const askedToSign = await buyerBefore([refusalAnswer('sign_to_collect')], { ...free, looks: [toCollect, 'cut'] });
  const elsewhere = { policy: { ...askedToSign.shared.policy, markets: ['https://other.example'] } };
  const refused = { name: 'PolicyRefused', parts: { reason: 'market_not_allowed' } };
  await expect(askedToSign.act(elsewhere)).rejects.toMatchObject(refused);
  expect([askedToSign.wallet.signed, await askedToSign.book.list()]).toEqual([0, []]);

  const bought = await buyerBefore([asked, deliveryAnswer(7, { receipt: RECEIPT }), toCollect]);
  const { path } = await bought.act();
  await rm(path);
  const { signed } = bought.wallet;
  await expect(bought.act(elsewhere)).rejects.toMatchObject(refused);
  expect(bought.wallet.signed).toBe(signed);
});

test.each<[string, object]>([
  ['seller_not_allowed', { sellers: { deny: ['ada'] } }],
  ['aisle_not_allowed', { aisles: { allow: [] } }],
  ['network_not_allowed', { networks: ['base-sepolia'] }],
])('free goods are held to the policy as others are: %s', async (reason, changed) => {
  const { act, shared, seen } = await buyerBefore([deliveryAnswer(7)], { listing: () => ({ price_usdc: 0 }) });
  const policy = { ...shared.policy, ...changed };
  await expect(act({ policy })).rejects.toMatchObject({ name: 'PolicyRefused', parts: { reason } });
  expect(seen.some(({ method }) => method === 'POST')).toBe(false);
});

describe('goods that an import told of', () => {
  /** Buys goods with one book, and restores their record in another book as if from an unsigned export. */
  async function buyAndImport(told: Parameters<typeof buyerBefore>[1] = {}) {
    const buyer = await buyerBefore([asked, deliveryAnswer(7, { receipt: RECEIPT }), toCollect], told);
    const { path } = await buyer.act();
    const [record] = await buyer.book.list();
    if (record === undefined) throw new Error('nothing was bought');
    const at = record.reserved_at;
    const book = openSpendBook({ env: { HOME: join(buyer.home, 'other') }, address: buyer.wallet.address });
    await book.restore({ ...record, imported: { at, verified: false } });
    return { ...buyer, path, book, act: () => buyer.act({ book }) };
  }

  const confirmed = { payment_status: 'completed', listing_id: 7, block_number: RECEIPT.block_number } as const;

  test('are what the listing promised once the market confirms payment and commitment', async () => {
    const { act, book, path } = await buyAndImport({ payment: confirmed });
    expect((await listSpends(book))[0]).toMatchObject({ verified: false });
    expect(await act()).toMatchObject({ path, alreadyHere: true, notVerified: null });
    expect((await listSpends(book))[0]).toMatchObject({ verified: true });
  });

  test.each<[string, Parameters<typeof buyerBefore>[1], string]>([
    ['knows no such payment', {}, 'no payment with this transaction'],
    ['has another block for it', { payment: { ...confirmed, block_number: 6 } }, 'block 6'],
    ['has it for another listing', { payment: { ...confirmed, listing_id: 8 } }, 'listing 8'],
  ])('are not verified where the market %s', async (_, told, why) => {
    const { act, book } = await buyAndImport(told);
    for (let turn = 0; turn < 2; turn += 1)
      expect(await act()).toMatchObject({ alreadyHere: true, notVerified: expect.stringContaining(why) });
    expect((await listSpends(book))[0]).toMatchObject({ verified: false });
  });

  test('and that cost nothing, as it says, stand in the way of no purchase', async () => {
    const { act, home, wallet, shared } = await buyerBefore([asked, deliveryAnswer(7, { receipt: RECEIPT })]);
    const [record] = await (async () => {
      const other = await buyerBefore([deliveryAnswer(7)], { listing: () => ({ price_usdc: 0 }) });
      await other.act();
      return await other.book.list();
    })();
    if (record === undefined) throw new Error('nothing was had');
    const key = `${shared.client.baseUrl} buy 7 ${wallet.address.toLowerCase()}`;
    const book = openSpendBook({ env: { HOME: join(home, 'other') }, address: wallet.address });
    await book.restore({ ...record, key, imported: { at: record.reserved_at, verified: false } });
    expect(await act({ book })).toMatchObject({ paidUnits: 2_500_000n, alreadyHere: false, notVerified: null });
  });

  test('are not verified where the listing promises others', async () => {
    let shown = {};
    const { act } = await buyAndImport({ payment: confirmed, listing: () => shown });
    shown = { artifact_commitment: `0x${'00'.repeat(32)}` };
    expect(await act()).toMatchObject({ notVerified: 'the listing promises other goods' });
  });
});
