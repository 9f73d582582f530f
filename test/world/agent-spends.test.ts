import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BuyGoodsOptions, buyGoods } from '../../src/agent/buy-goods.ts';
import { finishSpends } from '../../src/agent/finish-spends.ts';
import { findPurchase, listSpends } from '../../src/agent/list-purchases.ts';
import { type Policy, readPolicy } from '../../src/agent/policy.ts';
import { openChain } from '../../src/agent/read-chain.ts';
import { sellGoods } from '../../src/agent/sell-goods.ts';
import { openSpendBook } from '../../src/agent/spend-book.ts';
import { verifyGoods } from '../../src/agent/verify-goods.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { createClient } from '../../src/sdk/client.ts';
import type { Wallet } from '../../src/sdk/payments/payment-proof.ts';
import { BASE_URL, type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';

const { buyerOne, buyerTwo, buyerThree, sellerOne, sellerTwo, treasury } = WORLD_ACCOUNTS;

let world: World;
let seller: Member;
let other: Member;
let home = '';
let policy: Policy;

beforeAll(async () => {
  world = await startWorld();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  other = await world.join('seller-two');
  home = await mkdtemp(join(tmpdir(), 'openaisle-agent-'));
  policy = await readPolicy({ HOME: home });
});
afterAll(async () => {
  await world?.stop();
  await rm(home, { recursive: true, force: true });
});

/** Creates a client whose sleep mines blocks, so that finality comes at once. */
function clientOf(key?: string) {
  const environment = { sleep: () => world.finalize() };
  return createClient({
    baseUrl: world.url,
    callsItself: BASE_URL,
    environment,
    ...(key === undefined ? {} : { key }),
  });
}

async function list(priceUnits: bigint, artifact: string): Promise<number> {
  const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits, artifact });
  await world.running.eventsSettled();
  return Number(id);
}

/** Wraps a wallet and records the value of every signature that could move money. */
function countSignatures(wallet: Wallet): Wallet & { signed: bigint[] } {
  const signed: bigint[] = [];
  return {
    address: wallet.address,
    signed,
    signTypedData: (typed) => {
      if (typed.message.value > 0n) signed.push(typed.message.value);
      return wallet.signTypedData(typed);
    },
  };
}

function buying(wallet: Wallet, listingId: number, more: Partial<BuyGoodsOptions> = {}): BuyGoodsOptions {
  const book = openSpendBook({ env: { HOME: home }, address: wallet.address });
  return { client: clientOf(), wallet, policy, book, listingId, maxPriceUsdc: 5, ...more };
}

describe('buying under a policy and into a book', () => {
  test('pays once, keeps the goods, gives them again without asking, and verifies them against market and chain', async () => {
    const id = await list(2_500_000n, 'kept goods');
    const wallet = countSignatures(buyerOne.signer);
    const options = buying(wallet, id);
    const bought = await buyGoods(options);
    expect(await readFile(bought.path, 'utf8')).toBe('kept goods');
    expect((await stat(bought.path)).mode & 0o777).toBe(0o600);
    expect(bought).toMatchObject({ paidUnits: 2_500_000n, alreadyHere: false, seller: 'seller-one' });
    expect(await buyGoods(options)).toMatchObject({ path: bought.path, alreadyHere: true });
    expect(wallet.signed).toEqual([2_500_000n]);
    expect(await options.book.spentToday()).toBe(2_500_000n);
    const [row] = await listSpends(options.book);
    expect(row).toMatchObject({ state: 'settled', goods: 'intact', amount_usdc: 2.5, listing_id: id });

    const record = await findPurchase(options.book, String(id), null);
    expect(record.saved).toBeNull();
    const chain = await openChain(world.chain.url);
    const report = await verifyGoods(record, { client: clientOf(), chain });
    expect(report).toMatchObject({
      ok: true,
      goods: 'intact',
      market: { status: 'agrees' },
      chain: { status: 'final' },
    });
    await writeFile(bought.path, 'other goods');
    expect(await verifyGoods(record, {})).toMatchObject({ ok: false, goods: 'changed' });
  });

  test('goods that were deleted are collected again: no signature that could pay is made', async () => {
    const id = await list(1_000_000n, 'lost goods');
    const wallet = countSignatures(buyerTwo.signer);
    const { path } = await buyGoods(buying(wallet, id));
    await rm(path);
    expect(await buyGoods(buying(wallet, id))).toMatchObject({ path, alreadyHere: false });
    expect(await readFile(path, 'utf8')).toBe('lost goods');
    expect(wallet.signed).toEqual([1_000_000n]);
    expect(await paidUnits(world.chain, buyerTwo.address, sellerOne.address)).toEqual([1_000_000n]);
  });

  test('a payment whose wait ended is gone on with by the book', async () => {
    const id = await list(1_500_000n, 'late goods');
    const wallet = countSignatures(buyerTwo.signer);
    const options = buying(wallet, id);
    await expect(buyGoods({ ...options, maxWaitSeconds: 0 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
    expect((await listSpends(options.book))[0]).toMatchObject({ state: 'signed', path: null });
    const { client: _, listingId: __, maxPriceUsdc: ___, ...shared } = options;
    const [finished] = await finishSpends({ ...shared, connect: async () => clientOf() });
    expect(finished).toMatchObject({ bought: { paidUnits: 1_500_000n } });
    expect(wallet.signed).toEqual([1_500_000n]);
  });

  test('free goods cost nothing, need no signature, and are in the book', async () => {
    const id = await list(0n, 'free goods');
    const wallet = countSignatures(buyerThree.signer);
    const options = buying(wallet, id, { maxPriceUsdc: 0, outDir: join(home, 'free') });
    const { path, paidUnits: paid } = await buyGoods(options);
    expect([path.startsWith(join(home, 'free')), paid, wallet.signed]).toEqual([true, 0n, []]);
    await buyGoods(options);
    await buyGoods(options);
    expect(await options.book.spentToday()).toBe(0n);
    expect((await options.book.list()).filter(({ listing_id }) => listing_id === id)).toHaveLength(1);
  });
});

describe('a merchant’s purchase made elsewhere', () => {
  test('is collected here by the key, unsigned, and again when the file is gone', async () => {
    const id = await list(2_000_000n, 'goods bought elsewhere');
    const client = clientOf(other.key);
    const elsewhere = openSpendBook({ env: { HOME: join(home, 'elsewhere') }, address: buyerTwo.address });
    await buyGoods(buying(buyerTwo.signer, id, { client, book: elsewhere }));
    const wallet = countSignatures(buyerTwo.signer);
    const { path, paidUnits: paid } = await buyGoods(buying(wallet, id, { client }));
    await rm(path);
    expect(await buyGoods(buying(wallet, id, { client, maxPriceUsdc: 0 }))).toMatchObject({ path });
    expect([paid, wallet.signed]).toEqual([0n, []]);
  });
});

describe('what is refused before anything is signed', () => {
  const refusals: [string, bigint, Partial<BuyGoodsOptions>, Partial<Policy>, string][] = [
    ['above the caller’s limit', 2_000_000n, { maxPriceUsdc: 1.99 }, {}, 'above_max_price'],
    ['above one purchase', 5_000_001n, { maxPriceUsdc: 10 }, {}, 'above_per_purchase'],
    ['above the day', 3_000_000n, {}, { perDayUnits: 2_999_999n }, 'above_per_day'],
    ['a denied seller', 1n, {}, { sellers: { deny: ['seller-one'] } }, 'seller_not_allowed'],
    ['a denied wallet', 1n, {}, { sellers: { deny: [sellerOne.address] } }, 'seller_not_allowed'],
    ['a seller not among the allowed', 1n, {}, { sellers: { allow: ['seller-two'] } }, 'seller_not_allowed'],
    ['an aisle not among the allowed', 1n, {}, { aisles: { allow: ['nowhere'] } }, 'aisle_not_allowed'],
    ['another market', 1n, {}, { markets: ['https://market.example'] }, 'market_not_allowed'],
    ['a sum to ask about, and no person to ask', 2_000_000n, {}, { askAboveUnits: 1_999_999n }, 'needs_person'],
    ['a person who says no', 2_000_000n, { confirm: async () => false }, { askAboveUnits: 1n }, 'not_confirmed'],
  ];
  test.each(refusals)('%s', async (_, priceUnits, more, changed, reason) => {
    const id = await list(priceUnits, `refused goods: ${reason} ${priceUnits}`);
    const wallet = countSignatures(buyerThree.signer);
    const options = buying(wallet, id, { ...more, policy: { ...policy, ...changed } });
    await expect(buyGoods(options)).rejects.toMatchObject({ name: 'PolicyRefused', parts: { reason } });
    expect(wallet.signed).toEqual([]);
    expect((await options.book.list()).filter(({ listing_id }) => listing_id === id)).toEqual([]);
  });

  test('fifty purchases at once stay within the day', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, (_, n) => list(2_000_000n, `goods of many ${n}`)));
    const wallet = countSignatures(buyerThree.signer);
    const limited = { ...policy, perDayUnits: 6_000_000n };
    const wanted = Array.from({ length: 50 }, (_, n) => ids[n % ids.length] ?? 0);
    const ended = await Promise.allSettled(wanted.map((id) => buyGoods(buying(wallet, id, { policy: limited }))));
    expect(wallet.signed).toEqual([2_000_000n, 2_000_000n, 2_000_000n]);
    const refused = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason.parts?.reason] : []));
    expect(new Set(refused)).toEqual(new Set(['above_per_day', 'purchase_in_use']));
  });
});

describe('listing under the same policy', () => {
  const listing = {
    ...{ title: 'Goods of a book', description: 'd', preview: '', artifact: 'listed under a policy' },
    ...{ price_usdc: 1, seller_wallet: sellerTwo.address },
  };

  test('the fee is paid once, and the same body is the same listing', async () => {
    const wallet = countSignatures(sellerTwo.signer);
    const book = openSpendBook({ env: { HOME: home }, address: wallet.address });
    const options = { client: clientOf(other.key), wallet, policy, book, listing };
    const sold = await sellGoods(options);
    expect(sold).toMatchObject({ paidUnits: 1_000_000n, alreadyListed: false });
    expect(await sellGoods(options)).toMatchObject({ listing_id: sold.listing_id, alreadyListed: true });
    expect(await paidUnits(world.chain, sellerTwo.address, treasury.address)).toEqual([1_000_000n]);
    const [record] = await book.list();
    expect(record).toMatchObject({ state: 'settled', saved: null, listing: null, kind: 'listing_fee' });
  });

  test('a fee counts for the day, and is gone on with by the book', async () => {
    const wallet = countSignatures(sellerTwo.signer);
    const book = openSpendBook({ env: { HOME: home }, address: wallet.address });
    const body = { ...listing, title: 'Another of the book', artifact: 'listed under a policy as well' };
    const options = { client: clientOf(other.key), wallet, policy, book, listing: body };
    await expect(sellGoods({ ...options, policy: { ...policy, perDayUnits: 1_500_000n } })).rejects.toMatchObject({
      parts: { reason: 'above_per_day' },
    });
    expect(wallet.signed).toEqual([]);
    await expect(sellGoods({ ...options, maxWaitSeconds: 0 })).rejects.toMatchObject({ name: 'PaymentUndecided' });
    const finished = await finishSpends({ wallet, policy, book, connect: async () => clientOf(other.key) });
    expect(finished).toMatchObject([{ sold: { paidUnits: 1_000_000n, title: 'Another of the book' } }]);
    expect(wallet.signed).toEqual([1_000_000n]);
  });
});
