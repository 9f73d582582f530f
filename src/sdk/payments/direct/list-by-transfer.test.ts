import { afterEach, expect, test } from 'vitest';
import {
  createTransferWallet,
  type IntentFields,
  intentAnswer,
  TX_HASH,
} from '../../../../test/support/intent-answers.ts';
import {
  DOMAIN,
  listingDetail,
  officialAnswer,
  pendingAnswer,
  refusalAnswer,
  SELLER,
  TREASURY,
} from '../../../../test/support/market-answers.ts';
import {
  createTestTime,
  type Reply,
  type ScriptedMarket,
  type SeenRequest,
  startScriptedMarket,
} from '../../../../test/support/scripted-market.ts';
import { createClient } from '../../client.ts';
import { type ListByTransferOptions, listByTransfer } from './list-by-transfer.ts';
import { createMemoryTransferStore } from './transfer-store.ts';

const dryRun = (cost = 1): Reply => ({ status: 200, body: { dry_run: true, would_cost_usdc: cost } });
const fee = { amount_usdc: 1, tx_hash: null, verified_via: 'direct' };
const created: Reply = {
  status: 201,
  body: { listing_id: 7, url: '/api/listing/7', listing: listingDetail(7), fee },
};
const pending = (seconds: number) => pendingAnswer({ retry: 'same_request', retry_after_seconds: seconds });
const listing = {
  ...{ title: 'Goods', description: 'd', preview: '', artifact: 'a' },
  ...{ price_usdc: 2.5, seller_wallet: SELLER },
};

let market: ScriptedMarket | undefined;
afterEach(async () => {
  await market?.[Symbol.asyncDispose]();
  market = undefined;
});

interface Script {
  dry?: Reply;
  /** Replies to requests that list, with or without a fee. */
  posts?: Reply[];
  lies?: Partial<IntentFields>;
  intents?: (seen: number) => Reply;
  facts?: object;
}

const isDry = ({ path }: SeenRequest) => path.includes('dry_run=true');

async function sellerBefore(script: Script) {
  const [time, wallet] = [createTestTime(), createTransferWallet()];
  const counts = { posts: 0, intents: 0 };
  const scripted = await startScriptedMarket((request) => {
    if (request.path.startsWith('/api/official')) return officialAnswer(script.facts);
    if (isDry(request)) return script.dry ?? dryRun();
    if (request.path.startsWith('/api/fee-intent')) {
      counts.intents += 1;
      const amount = { seller_wallet: TREASURY, minimum_amount_units: '1000000', minimum_amount_usdc: '1.000000' };
      const given = { payer: wallet.address, nowMs: time.now(), name: 'fee_intent' } as const;
      return script.intents?.(counts.intents) ?? intentAnswer(given, { ...amount, ...script.lies });
    }
    counts.posts += 1;
    const posts = script.posts ?? [created];
    return posts[Math.min(counts.posts, posts.length) - 1] ?? 'cut';
  });
  market = scripted;
  const callsItself = `https://${DOMAIN}`;
  const client = createClient({ baseUrl: scripted.baseUrl, callsItself, key: 'k', environment: time });
  const options: ListByTransferOptions = { client, wallet, listing, store: createMemoryTransferStore() };
  const posts = () => scripted.seen.filter((request) => request.path.startsWith('/api/listing') && !isDry(request));
  const paths = () => scripted.seen.map(({ path }) => path);
  return { options, wallet, posts, paths };
}

test('asks whether the goods would be taken, sends one fee, and claims with the same body until the listing is live', async () => {
  const unread = refusalAnswer('payment_preserved');
  const { options, wallet, posts, paths } = await sellerBefore({ posts: ['cut', pending(5), unread, created] });
  expect((await listByTransfer(options)).listing_id).toBe(7);
  expect(paths().slice(0, 3)).toEqual(['/api/official', '/api/listing?dry_run=true', '/api/fee-intent']);
  expect(wallet.sent).toEqual([expect.objectContaining({ to: TREASURY, units: 1_000_000n, chainId: 8453 })]);
  const bodies = posts().map(({ body }) => body);
  expect(bodies).toHaveLength(4);
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
  expect(bodies[0]).toMatchObject({ ...listing, fee_payment: { tx_hash: TX_HASH } });
});

test.each(['seller_wallet_refused', 'rate_limited', 'wallet_in_use', 'key_invalid'] as const)(
  'goods that are refused with %s cost nothing',
  async (reason) => {
    const { options, wallet } = await sellerBefore({ dry: refusalAnswer(reason) });
    await expect(listByTransfer(options)).rejects.toMatchObject({ name: 'MarketError', reason });
    expect([wallet.signed, wallet.sent]).toEqual([[], []]);
  },
);

test('a duplicate of itself is the same listing, one of others a refusal; neither costs anything', async () => {
  const own = await sellerBefore({ dry: refusalAnswer('duplicate_listing'), posts: [pending(5), created] });
  expect((await listByTransfer(own.options)).listing_id).toBe(7);
  expect(own.posts().map(({ body }) => body)).toEqual([listing, listing]);
  await market?.[Symbol.asyncDispose]();
  const duplicate = refusalAnswer('duplicate_listing');
  const others = await sellerBefore({ dry: duplicate, posts: [duplicate] });
  await expect(listByTransfer(others.options)).rejects.toMatchObject({ reason: 'duplicate_listing' });
  expect([own.wallet.sent, others.wallet.sent]).toEqual([[], []]);
});

test('a fee that was paid before is spent, and nothing is sent', async () => {
  const { options, wallet, posts } = await sellerBefore({ dry: dryRun(0) });
  await listByTransfer(options);
  expect(posts()).toHaveLength(1);
  expect(wallet.sent).toEqual([]);
});

test.each([
  ['above the limit', { facts: { listing_fee_usdc: 2 }, dry: dryRun(2) }, {}, 'price_above_limit'],
  ['other than the facts say', { dry: dryRun(2) }, { maxFeeUsdc: 5 }, 'wrong_amount'],
  ['of another intent', { lies: { minimum_amount_units: '1' } }, {}, 'wrong_amount'],
  ['to another payee than the caller knows', {}, { treasury: SELLER }, 'wrong_payee'],
  ['to another payee than the facts say', { lies: { seller_wallet: SELLER } }, {}, 'wrong_payee'],
] as const)('a fee %s is not paid', async (_, script, more, why) => {
  const { options, wallet } = await sellerBefore(script);
  // The fee is not part of a listing, so the advice must not be to read a listing again.
  const nextStep = expect.not.stringContaining('listing');
  await expect(listByTransfer({ ...options, ...more })).rejects.toMatchObject({ name: 'TermsRefused', why, nextStep });
  expect([wallet.signed, wallet.sent]).toEqual([[], []]);
});

test('called again after a crash it goes on with the same fee, also when the fields come in another order', async () => {
  const { options, wallet, paths } = await sellerBefore({ posts: [pending(60), created] });
  await expect(listByTransfer({ ...options, maxWaitSeconds: 30 })).rejects.toMatchObject({ txHash: TX_HASH });
  const turned = Object.fromEntries(Object.entries(listing).reverse()) as typeof listing;
  await listByTransfer({ ...options, listing: turned });
  expect(wallet.sent).toHaveLength(1);
  expect(paths().filter((path) => path === '/api/fee-intent')).toHaveLength(1);
});

test('a fee that became a credit is told with its transaction, and not paid again', async () => {
  const credit = refusalAnswer('duplicate_listing', { do_not_pay_again: true });
  const { options, wallet } = await sellerBefore({ posts: [credit] });
  const told = { name: 'TransferRefused', reason: 'duplicate_listing', doNotPayAgain: true, txHash: TX_HASH };
  await expect(listByTransfer(options)).rejects.toMatchObject(told);
  await expect(listByTransfer(options)).rejects.toMatchObject(told);
  expect(wallet.sent).toHaveLength(1);
});

test('an intent that another listing is paid with is waited for, not paid for twice', async () => {
  const first = await sellerBefore({ posts: [pending(60)] });
  await expect(listByTransfer({ ...first.options, maxWaitSeconds: 30 })).rejects.toMatchObject({ txHash: TX_HASH });
  // The market returns the same intent, because the first claim was lost.
  const other = { ...first.options, listing: { ...listing, title: 'Other goods' }, maxWaitSeconds: 30 };
  await expect(listByTransfer(other)).rejects.toMatchObject({ name: 'TransferUndecided' });
  expect(first.wallet.sent).toHaveLength(1);
});
