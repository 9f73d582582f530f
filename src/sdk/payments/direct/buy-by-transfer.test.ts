import { describe, expect, test } from 'vitest';
import {
  buyerBefore,
  challengeOf,
  createTransferWallet,
  delivered,
  INTENT_ID,
  type IntentFields,
  intentAnswer,
  pending,
  TX_HASH,
} from '../../../../test/support/intent-answers.ts';
import { ARTIFACT, deliveryAnswer, refusalAnswer, SELLER, TREASURY } from '../../../../test/support/market-answers.ts';
import type { Reply } from '../../../../test/support/scripted-market.ts';
import { savedTransfer, type TransferStore } from './transfer-store.ts';

test('intent, signature, one transfer with the tip, claims until the goods come, and they are what was promised', async () => {
  const claims = ['cut', pending(5), refusalAnswer('payment_preserved', { retry_after_seconds: 3 }), pending(60)];
  const buyer = await buyerBefore({ claims: [...(claims as Reply[]), delivered] }, { tipUsdc: 0.5 });
  expect((await buyer.act()).artifact).toBe(ARTIFACT);
  expect(buyer.wallet.sent).toEqual([{ to: SELLER, units: 3_000_000n, asset: expect.any(String), chainId: 8453 }]);
  expect(buyer.wallet.signed).toHaveLength(1);
  const sent = buyer.asked('/api/claim/7').map(({ body }) => body);
  expect(new Set(sent.map((body) => JSON.stringify(body))).size).toBe(1);
  expect(sent[0]).toMatchObject({ intent_id: INTENT_ID, tx_hash: TX_HASH });
  expect(buyer.time.slept).toEqual([2, 5, 3, 60]);
  expect(buyer.phases).toEqual(['opened', 'signed', 'sent', ...Array(4).fill('pending'), 'delivered']);
  await buyer.act({ client: buyer.newClient() });
  expect(buyer.wallet.sent).toHaveLength(1);
});

test('a proxy that does not reach the market is waited out with the same claim, and before anything is sent', async () => {
  const away: Reply = { status: 503, body: '<html>No server is available to handle this request.</html>' };
  const intents = [...Array<Reply>(5).fill(away)];
  const wallet = createTransferWallet();
  intents.push(intentAnswer({ payer: wallet.address, nowMs: 1_800_000_060_000 }));
  const buyer = await buyerBefore({ wallet, intents, claims: [...Array<Reply>(20).fill(away), delivered] });
  expect((await buyer.act()).artifact).toBe(ARTIFACT);
  expect(buyer.wallet.sent).toHaveLength(1);
  expect(buyer.asked('/api/purchase-intent')).toHaveLength(6);
  expect(new Set(buyer.asked('/api/claim/7').map(({ body }) => JSON.stringify(body))).size).toBe(1);
});

test('the transfer is saved before it is sent, and its hash before it is claimed', async () => {
  const seen: unknown[] = [];
  const wallet = createTransferWallet(() => look().then(() => TX_HASH));
  const buyer = await buyerBefore({ wallet });
  async function look() {
    seen.push(await buyer.store.load(buyer.storeKey));
  }
  const slow: TransferStore = {
    ...buyer.store,
    create: (key, transfer) => new Promise(setImmediate).then(() => buyer.store.create(key, transfer)),
  };
  await buyer.act({ store: slow, onProgress: ({ phase }) => void (phase === 'sent' && look()) });
  expect(seen.map((saved) => savedTransfer.parse(saved).tx_hash)).toEqual([null, TX_HASH]);
});

describe('an intent that is not what the listing says', () => {
  const lie = (fields: Partial<IntentFields>) => ({ lies: fields });
  const short = new Date(1_800_000_000_000 + 60_000).toISOString();
  test.each([
    ['another payee', lie({ seller_wallet: TREASURY }), 'wrong_payee'],
    ['a higher price', lie({ minimum_amount_units: '2600000', minimum_amount_usdc: '2.600000' }), 'wrong_amount'],
    ['a lower price', lie({ minimum_amount_units: '1', minimum_amount_usdc: '0.000001' }), 'wrong_amount'],
    ['two prices', lie({ minimum_amount_usdc: '3.000000' }), 'wrong_amount'],
    ['another token', lie({ asset: TREASURY }), 'wrong_asset'],
    ['another chain', lie({ chain_id: 1 }), 'wrong_network'],
    ['another listing', lie({ listing_id: 8 }), 'wrong_intent'],
    ['no payer', lie({ payer_wallet: null }), 'wrong_intent'],
    ['another payer', lie({ payer_wallet: TREASURY }), 'wrong_intent'],
    ['a handle of two lines', lie({ buyer: 'ada\npayer: x' }), 'wrong_intent'],
    ['a text of its own', lie({ challenge: 'I give everything away' }), 'wrong_intent'],
    ['too little time', lie({ expires_at: short }), 'too_little_time'],
    ['facts of another chain', { facts: { network: 'base-sepolia' } }, 'wrong_network'],
    ['facts with another token', { facts: { usdc_contract: TREASURY } }, 'wrong_asset'],
    ['a listing above the limit', { listing: { price_usdc: 2.500001 } }, 'price_above_limit'],
    ['a thing of the city', { listing: { artifact_commitment: null } }, 'not_goods'],
    ['goods that cost nothing', { listing: { price_usdc: 0 } }, 'wrong_amount'],
  ])('%s: nothing is signed and nothing is sent', async (_, script, why) => {
    const { act, wallet } = await buyerBefore(script);
    await expect(act()).rejects.toMatchObject({ name: 'TermsRefused', why });
    expect([wallet.signed, wallet.sent]).toEqual([[], []]);
  });

  test('what costs nothing is not sent back to its price, but to the call that takes it', async () => {
    const { act } = await buyerBefore({ listing: { price_usdc: 0 } });
    await expect(act()).rejects.toMatchObject({ nextStep: 'Get them with buy, which signs nothing for free goods.' });
  });

  test.each([
    ['a line more', (text: string) => `${text}\nalso: everything`],
    ['a line less', (text: string) => text.replace(/\nnonce: .*/, '')],
    ['another order', (text: string) => text.split('\n').reverse().join('\n')],
    ['another payee in the text', (text: string) => text.replace(SELLER, TREASURY)],
    ['another purpose in the text', (text: string) => text.replace('purchase', 'listing_fee')],
  ])('%s in the challenge is not signed', async (_, change) => {
    const first = await buyerBefore({});
    const answer = intentAnswer({ payer: first.wallet.address, nowMs: first.time.now() });
    const { purchase_intent: intent } = (answer as { body: { purchase_intent: IntentFields } }).body;
    const challenge = change(challengeOf(intent));
    const { act, wallet } = await buyerBefore({ wallet: first.wallet, lies: { challenge } });
    await expect(act()).rejects.toMatchObject({ why: 'wrong_intent' });
    expect(wallet.sent).toEqual([]);
  });

  test.each([
    'https://elsewhere.example',
    'http://market.example',
    'https://market.example:444',
    'https://market.example/bob',
  ])('a challenge of %s, which is another market, is not signed, whatever the facts say', async (other) => {
    const first = await buyerBefore({});
    const answer = intentAnswer({ payer: first.wallet.address, nowMs: first.time.now() });
    const { purchase_intent: intent } = (answer as { body: { purchase_intent: IntentFields } }).body;
    const facts = { domain: new URL(other).host };
    const script = { wallet: first.wallet, lies: { challenge: challengeOf(intent, other) }, facts };
    const { act, wallet } = await buyerBefore(script);
    await expect(act()).rejects.toMatchObject({
      ...{ why: 'other_market', message: expect.stringContaining(`calls itself ${new URL(other).origin}`) },
      nextStep: expect.stringContaining('--market-calls-itself'),
    });
    expect([wallet.signed, wallet.sent]).toEqual([[], []]);
  });
});

test.each([
  [true, 1],
  // Earlier versions of the market omit the field.
  [undefined, 1],
  [false, 0],
])('a wallet with code is asked about before money moves: with %s it sends %i', async (signature_checked, sent) => {
  const first = await buyerBefore({});
  const opened = intentAnswer({ payer: first.wallet.address, nowMs: first.time.now() }, { prove_first: true });
  const { body } = opened as { body: object };
  const checked: Reply = { status: 200, body: { ...body, signature_checked } };
  const { act, wallet, asked } = await buyerBefore({ wallet: first.wallet, intents: [opened, checked] });
  const done = act();
  if (sent === 0) await expect(done).rejects.toMatchObject({ name: 'TermsRefused', why: 'wallet_cannot_sign' });
  else expect((await done).artifact).toBe(ARTIFACT);
  expect([wallet.signed.length, wallet.sent.length]).toEqual([1, sent]);
  expect(asked('/api/purchase-intent/7')[1]?.body).toMatchObject({ intent_id: INTENT_ID });
});

test('an owner who takes too long to sign sends nothing, and calling again goes on with another intent', async () => {
  const buyer = await buyerBefore({});
  const slow = async (asked: { message: string }) => {
    await buyer.time.sleep(500_000);
    return buyer.wallet.signMessage(asked);
  };
  const wallet = { ...buyer.wallet, signMessage: slow };
  await expect(buyer.act({ wallet })).rejects.toMatchObject({ why: 'too_little_time' });
  expect(buyer.wallet.sent).toEqual([]);
  await buyer.act();
  expect(buyer.wallet.sent).toHaveLength(1);
});

const OTHER_HASH = `0x${'8f'.repeat(32)}` as const;

describe('refusals', () => {
  test.each([
    ['transfer_not_found', false],
    ['wrong_payer', true],
    ['transaction_used', true],
    ['amount_too_little', true],
    ['outside_window', true],
    ['authorized_transfer', true],
    ['already_bought', true],
    ['paid_after_removal', true],
    ['intent_changed', true],
    ['key_invalid', true],
  ] as const)('%s is thrown with what to do, and nothing more is sent', async (reason, doNotPayAgain) => {
    const { act, wallet, asked } = await buyerBefore({ claims: [refusalAnswer(reason)] });
    const expected = { ...{ name: 'TransferRefused', reason, doNotPayAgain }, intentId: INTENT_ID, txHash: TX_HASH };
    await expect(act()).rejects.toMatchObject(expected);
    await expect(act()).rejects.toSatisfy((error) => error.message.includes(error.nextStep) && error.nextStep !== '');
    expect(wallet.sent).toHaveLength(1);
    expect(asked('/api/claim')).toHaveLength(2);
  });

  test('of a hash: another one that the caller names joins the claim', async () => {
    const { act, wallet, asked } = await buyerBefore({ claims: [refusalAnswer('transfer_not_found'), delivered] });
    await expect(act()).rejects.toMatchObject({ reason: 'transfer_not_found' });
    await act({ resume: OTHER_HASH });
    expect(wallet.sent).toHaveLength(1);
    expect(asked('/api/claim')[1]?.body).toMatchObject({ tx_hash: OTHER_HASH });
  });

  test('of a hash for good: another transfer only when the caller says so and the market has decided', async () => {
    const decided = { payment_status: 'unpaid', do_not_pay_again: false };
    const refused = refusalAnswer('transfer_not_found');
    const { act, wallet } = await buyerBefore({ claims: [refused, refused, delivered], payment: decided });
    await expect(act()).rejects.toMatchObject({ reason: 'transfer_not_found' });
    await expect(act()).rejects.toMatchObject({ reason: 'transfer_not_found' });
    expect(wallet.sent).toHaveLength(1);
    await act({ resume: 'nothing_sent' });
    expect(wallet.sent).toHaveLength(2);
  });

  test('of a hash that paid for something else: it was not the one, so another transfer may be sent when the caller says so', async () => {
    const unclaimed = { id: null, payment_status: 'unsubmitted', do_not_pay_again: false };
    const used = refusalAnswer('transaction_used');
    const { act, wallet } = await buyerBefore({ claims: [used, delivered], payment: unclaimed });
    await expect(act()).rejects.toMatchObject({ reason: 'transaction_used' });
    await act({ resume: 'nothing_sent' });
    expect(wallet.sent).toHaveLength(2);
  });

  test('while the market examines a hash, that nothing was sent is not taken for true', async () => {
    const { act, wallet } = await buyerBefore({ claims: [pending(60), delivered] }, { maxWaitSeconds: 30 });
    await expect(act()).rejects.toMatchObject({ name: 'TransferUndecided' });
    await act({ resume: 'nothing_sent' });
    expect(wallet.sent).toHaveLength(1);
  });

  test('of the signature: the next call signs again and sends nothing', async () => {
    const { act, wallet } = await buyerBefore({ claims: [refusalAnswer('signature_invalid'), delivered] });
    await expect(act()).rejects.toMatchObject({ reason: 'signature_invalid' });
    await act();
    expect([wallet.signed.length, wallet.sent.length]).toEqual([2, 1]);
    expect(wallet.signed[0]).toBe(wallet.signed[1]);
  });

  test.each(['payment_undecided', 'other_payer_open', 'own_goods', 'listing_unavailable'] as const)(
    '%s instead of an intent: nothing is sent',
    async (reason) => {
      const { act, wallet, asked } = await buyerBefore({ intents: [refusalAnswer(reason)] });
      await expect(act()).rejects.toMatchObject({ name: 'MarketError', reason });
      expect([wallet.signed, wallet.sent]).toEqual([[], []]);
      expect(asked('/api/purchase-intent')).toHaveLength(1);
    },
  );

  test('a chain and a clock that disagree are given a few tries', async () => {
    const { act, wallet, asked } = await buyerBefore({ intents: [refusalAnswer('chain_clock')] });
    await expect(act()).rejects.toMatchObject({ reason: 'chain_clock' });
    expect(asked('/api/purchase-intent')).toHaveLength(4);
    expect(wallet.sent).toEqual([]);
  });
});

test('nothing is sent for goods that are sold by the wallet that would pay', async () => {
  const wallet = createTransferWallet();
  const { act, asked } = await buyerBefore({ wallet, listing: { seller_wallet: wallet.address } });
  await expect(act()).rejects.toMatchObject({ name: 'TermsRefused', why: 'own_goods' });
  expect([wallet.sent, asked('/api/purchase-intent/')]).toEqual([[], []]);
});

test.each([
  ['was bought before', 'purchase_exists'],
  ['comes with an older version', 'free_listing'],
] as const)('what %s is collected with the key, and nothing is sent', async (_, reason) => {
  const bought = { intents: [refusalAnswer(reason)], collected: delivered };
  const { act, wallet, asked } = await buyerBefore(bought);
  expect((await act()).artifact).toBe(ARTIFACT);
  expect(asked('/api/buy/7')[0]?.body).toEqual({ collect: true });
  expect(wallet.sent).toEqual([]);
});

test('other goods than promised are an error that hands them over, and the claim can be sent again', async () => {
  const { act, wallet } = await buyerBefore({ claims: [deliveryAnswer(7, { artifact: 'something else' })] });
  await expect(act()).rejects.toMatchObject({ name: 'ArtifactMismatch', doNotPayAgain: true });
  await expect(act()).rejects.toSatisfy((error) => error.delivery().artifact === 'something else');
  expect(wallet.sent).toHaveLength(1);
});

test('a market that talks nonsense after the transfer is left with its hash', async () => {
  const { act } = await buyerBefore({ claims: [{ status: 200, body: { odd: true } }] });
  await expect(act()).rejects.toMatchObject({
    name: 'TransferUndecided',
    txHash: TX_HASH,
    cause: { why: 'unexpected' },
  });
});

test('a broken-off wait says what was sent, and one broken off before sends nothing', async () => {
  const stop = new AbortController();
  const onProgress = ({ phase }: { phase: string }): void => (phase === 'pending' ? stop.abort() : undefined);
  const { act, wallet } = await buyerBefore({ claims: [pending(5)] });
  await expect(act({ signal: stop.signal, onProgress })).rejects.toMatchObject({ txHash: TX_HASH });
  expect(wallet.sent).toHaveLength(1);
  const early = new AbortController();
  const other = await buyerBefore({});
  const abort = ({ phase }: { phase: string }): void => (phase === 'signed' ? early.abort() : undefined);
  await expect(other.act({ signal: early.signal, onProgress: abort })).rejects.toMatchObject({ name: 'AbortError' });
  expect(other.wallet.sent).toEqual([]);
});
