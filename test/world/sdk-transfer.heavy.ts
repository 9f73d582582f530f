import { describe, expect, it } from 'vitest';
import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { transferFinder, transferWallet } from '../../src/local/chain/transactions.ts';
import { createClient } from '../../src/sdk/client.ts';
import { type BuyByTransferOptions, buyByTransfer } from '../../src/sdk/payments/direct/buy-by-transfer.ts';
import { listByTransfer } from '../../src/sdk/payments/direct/list-by-transfer.ts';
import type { TransferOptions, TransferPhase } from '../../src/sdk/payments/direct/transfer-options.ts';
import { createMemoryTransferStore, type TransferStore } from '../../src/sdk/payments/direct/transfer-store.ts';
import { rotated } from '../suite/rotation.ts';
import { BASE_URL, type Member, paidUnits } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';

const trade = testTrade();
const { world, buyer, seller } = trade;
const { sellerOne, treasury } = WORLD_ACCOUNTS;
const PRICE_USDC = 2.5;

/** Creates a client without memory of earlier ones, like a new process. Its waits mine blocks, so finality comes at once. */
function processOf(member: Member) {
  const environment = { sleep: () => world.finalize() };
  return createClient({ baseUrl: world.url, callsItself: BASE_URL, key: member.key, environment });
}

/** Sets up one purchase: goods, payer, and a store that outlives the buying processes. */
async function order(payer?: TestAccount) {
  const { id, artifact } = await trade.goods();
  const account = payer ?? (await trade.wallet(4n * PRICE, GAS_WEI));
  const store = createMemoryTransferStore();
  const wallet = transferWallet(world.chain, account);
  const buy = (more: Partial<BuyByTransferOptions> = {}) =>
    buyByTransfer({
      ...{ client: processOf(buyer), wallet, store, listingId: Number(id), maxPriceUsdc: PRICE_USDC, ...more },
    });
  const paid = () => paidUnits(world.chain, account.address, sellerOne.address);
  return { artifact, store, wallet, buy, paid };
}

const goodsToList = (title: string) => ({
  ...{ title, description: 'd', preview: '', artifact: `what ${title} is about, and nothing else` },
  ...{ price_usdc: 1, seller_wallet: sellerOne.address },
});

const KILLED = new Error('killed');

/** Throws at that phase, as if the process had died there. */
function killedAt(phase: TransferPhase): Pick<TransferOptions, 'onProgress'> {
  return {
    onProgress: (progress) => {
      if (progress.phase === phase) throw KILLED;
    },
  };
}

describe('buying by a transfer', () => {
  it('pays the price and the tip once, and gets the goods when the transfer is final, also when asked again', async () => {
    const { artifact, buy, paid } = await order();
    const stages: string[] = [];
    const phases: string[] = [];
    const delivery = await buy({
      tipUsdc: 0.25,
      onProgress: ({ phase, payment }) => {
        phases.push(phase);
        if (payment !== undefined) stages.push(payment.stage);
      },
    });
    expect(delivery).toMatchObject({ artifact, purchase: { verified_via: 'direct', paid_usdc: 2.75 } });
    expect(phases).toEqual(['opened', 'signed', 'sent', 'pending', 'delivered']);
    expect(stages).toEqual(['mined']);
    expect((await buy()).artifact).toBe(artifact);
    expect(await paid()).toEqual([2_750_000n]);
  });

  it('collects with the key what a buyer whose store is lost has bought, and pays nothing', async () => {
    const { artifact, buy, paid } = await order();
    await buy();
    const store = createMemoryTransferStore();
    expect((await buy({ store })).artifact).toBe(artifact);
    expect(await paid()).toEqual([PRICE]);
  });

  it('of three processes that buy the same at once one pays', async () => {
    const { artifact, buy, paid } = await order();
    const findTransfer = transferFinder(world.chain);
    await Promise.allSettled([1, 2, 3].map(() => buy()));
    expect(await paid()).toEqual([PRICE]);
    expect((await buy({ findTransfer })).artifact).toBe(artifact);
    expect(await paid()).toEqual([PRICE]);
  });
});

describe('a buyer that is killed', () => {
  it.each(rotated(import.meta.filename, ['opened', 'signed', 'sent', 'pending', 'delivered'] as const))(
    'at "%s" goes on when it is started again, and has paid once',
    async (phase) => {
      const { artifact, buy, paid } = await order();
      await expect(buy(killedAt(phase))).rejects.toBe(KILLED);
      // A transfer that was just sent may not be mined yet.
      await expect.poll(paid).toHaveLength(phase === 'opened' || phase === 'signed' ? 0 : 1);
      expect((await buy()).artifact).toBe(artifact);
      expect(await paid()).toEqual([PRICE]);
    },
  );

  it('between sending and knowing the hash sends nothing again, and finds the transfer on the chain', async () => {
    const { artifact, buy, paid, wallet } = await order();
    const sendUsdc: typeof wallet.sendUsdc = async (transfer) => {
      await wallet.sendUsdc(transfer);
      throw KILLED;
    };
    await expect(buy({ wallet: { ...wallet, sendUsdc } })).rejects.toMatchObject({ cause: KILLED });
    await expect(buy()).rejects.toMatchObject({ name: 'TransferMayBeSent' });
    await expect.poll(paid).toHaveLength(1);
    expect((await buy({ findTransfer: transferFinder(world.chain) })).artifact).toBe(artifact);
    expect(await paid()).toEqual([PRICE]);
  });

  it('between knowing the hash and saving it goes on with the hash that the caller finds', async () => {
    const { artifact, buy, paid, store } = await order();
    const torn: TransferStore = { ...store, save: () => Promise.reject(KILLED) };
    const error = await buy({ store: torn }).catch((caught: unknown) => caught as { txHash: `0x${string}` });
    await expect(buy()).rejects.toMatchObject({ name: 'TransferMayBeSent' });
    expect(await buy({ resume: (error as { txHash: `0x${string}` }).txHash })).toMatchObject({ artifact });
    expect(await paid()).toEqual([PRICE]);
  });

  it('just before sending pays only when the caller says that nothing was sent', async () => {
    const { artifact, buy, paid, wallet } = await order();
    const dead = { ...wallet, sendUsdc: () => Promise.reject(KILLED) };
    await expect(buy({ wallet: dead })).rejects.toMatchObject({ name: 'TransferMayBeSent' });
    await expect(buy({ findTransfer: transferFinder(world.chain) })).rejects.toMatchObject({
      sought: { units: PRICE },
    });
    expect(await paid()).toEqual([]);
    expect((await buy({ resume: 'nothing_sent' })).artifact).toBe(artifact);
    expect((await buy({ resume: 'nothing_sent' })).artifact).toBe(artifact);
    expect(await paid()).toEqual([PRICE]);
  });
});

it('too little is for the seller: the refusal names the transaction, and nothing more is sent', async () => {
  const { artifact, buy, paid, wallet } = await order();
  const stingy = { ...wallet, sendUsdc: (sent: Parameters<typeof wallet.sendUsdc>[0]) => short(sent) };
  const short = (sent: Parameters<typeof wallet.sendUsdc>[0]) => wallet.sendUsdc({ ...sent, units: sent.units - 1n });
  const refused = await buy({ wallet: stingy }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ name: 'TransferRefused', reason: 'amount_too_little', doNotPayAgain: true });
  await expect(buy({ resume: 'nothing_sent' })).rejects.toMatchObject({ reason: 'amount_too_little' });
  const { payment } = (refused as { cause: { problem: { payment: { id: number } } } }).cause.problem;
  await world.ask('POST', `/api/review/${payment.id}`, { key: seller.key, body: { outcome: 'deliver' } });
  expect((await buy()).artifact).toBe(artifact);
  expect(await paid()).toEqual([PRICE - 1n]);
});

it('a transfer for something else that is taken for the lost one is refused, and then this is paid for', async () => {
  const payer = await trade.wallet(4n * PRICE, GAS_WEI);
  const [lost, other] = [await order(payer), await order(payer)];
  const dead = { ...lost.wallet, sendUsdc: () => Promise.reject(KILLED) };
  await expect(lost.buy({ wallet: dead })).rejects.toMatchObject({ name: 'TransferMayBeSent' });
  await other.buy();
  const findTransfer = transferFinder(world.chain);
  await expect(lost.buy({ findTransfer })).rejects.toMatchObject({ reason: 'transaction_used', doNotPayAgain: true });
  await expect(lost.buy()).rejects.toMatchObject({ reason: 'transaction_used' });
  expect((await lost.buy({ resume: 'nothing_sent' })).artifact).toBe(lost.artifact);
  expect(await lost.paid()).toEqual([PRICE, PRICE]);
});

describe('listing by a transfer', () => {
  const fees = (of: TestAccount) => paidUnits(world.chain, of.address, treasury.address);

  it.each(rotated(import.meta.filename, ['opened', 'signed', 'sent', 'pending', 'delivered'] as const))(
    'pays one fee for one listing, also when the seller is killed at "%s"',
    async (phase) => {
      const account = await trade.wallet(4n * PRICE, GAS_WEI);
      const [wallet, store] = [transferWallet(world.chain, account), createMemoryTransferStore()];
      const options = { wallet, store, listing: goodsToList(`the seller that dies when ${phase}`) };
      await expect(listByTransfer({ ...options, ...killedAt(phase), client: processOf(seller) })).rejects.toBe(KILLED);
      const listed = await listByTransfer({ ...options, client: processOf(seller) });
      expect(listed).toMatchObject({ fee: { amount_usdc: 1, verified_via: 'direct' }, listing: { state: 'live' } });
      const again = await listByTransfer({ ...options, client: processOf(seller) });
      expect(again.listing_id).toBe(listed.listing_id);
      const unremembered = { ...options, store: createMemoryTransferStore() };
      const found = await listByTransfer({ ...unremembered, client: processOf(seller) });
      expect(found.listing_id).toBe(listed.listing_id);
      expect(await fees(account)).toEqual([1_000_000n]);
    },
  );

  it('lists two goods at once, each with a fee of its own', async () => {
    const account = await trade.wallet(4n * PRICE, GAS_WEI);
    const [wallet, store] = [transferWallet(world.chain, account), createMemoryTransferStore()];
    const listed = await Promise.all(
      ['one of a pair', 'the other of a pair'].map((title) =>
        listByTransfer({ wallet, store, client: processOf(seller), listing: goodsToList(title) }),
      ),
    );
    expect(new Set(listed.map(({ listing_id }) => listing_id)).size).toBe(2);
    expect(new Set(listed.map(({ fee }) => fee.tx_hash)).size).toBe(2);
    expect(await fees(account)).toEqual([1_000_000n, 1_000_000n]);
  });
});
