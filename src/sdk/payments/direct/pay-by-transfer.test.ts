import { describe, expect, test } from 'vitest';
import {
  buyerBefore,
  createTransferWallet,
  delivered,
  INTENT_ID,
  intentAnswer,
  pending,
  TX_HASH,
} from '../../../../test/support/intent-answers.ts';
import { ARTIFACT, SELLER } from '../../../../test/support/market-answers.ts';
import { buyByTransfer } from './buy-by-transfer.ts';
import { TransferNotSent } from './transfer-errors.ts';
import { createMemoryTransferStore } from './transfer-store.ts';

describe('a transfer that may have been sent', () => {
  const lost = () => createTransferWallet(() => Promise.reject(new Error('socket closed')));

  test('is never sent again: the error says what to look for, and a hash goes on with it', async () => {
    const buyer = await buyerBefore({ wallet: lost() }, { tipUsdc: 1 });
    const sought = { from: buyer.wallet.address, to: SELLER, units: 3_500_000n, chainId: 8453 };
    for (let call = 0; call < 3; call += 1) {
      const fresh = { client: buyer.newClient() };
      await expect(buyer.act(fresh)).rejects.toMatchObject({
        ...{ name: 'TransferMayBeSent', doNotPayAgain: true, intentId: INTENT_ID, sought },
        message: expect.stringContaining('resume'),
      });
    }
    expect(buyer.wallet.sent).toHaveLength(1);
    expect(buyer.asked('/api/claim')).toHaveLength(0);
    await buyer.act({ resume: TX_HASH });
    expect(buyer.wallet.sent).toHaveLength(1);
    expect(buyer.asked('/api/claim')[0]?.body).toMatchObject({ tx_hash: TX_HASH });
  });

  test('is found by the caller’s look at the chain', async () => {
    const buyer = await buyerBefore({ wallet: lost() });
    await expect(buyer.act()).rejects.toThrow('may have been sent');
    await expect(buyer.act({ findTransfer: async () => null })).rejects.toThrow('may have been sent');
    const looked: object[] = [];
    const findTransfer = async (sought: object) => {
      looked.push(sought);
      return TX_HASH;
    };
    await buyer.act({ findTransfer });
    expect(looked).toEqual([expect.objectContaining({ units: 2_500_000n, since: '2027-01-15T08:00:00.000Z' })]);
    expect(buyer.wallet.sent).toHaveLength(1);
  });

  test.each([
    ['no hash', () => 'done' as `0x${string}`],
    ['a hash that is too short', () => '0x7e7e' as const],
  ])('a wallet that answers %s may have sent it', async (_, answer) => {
    const buyer = await buyerBefore({ wallet: createTransferWallet(answer) });
    await expect(buyer.act()).rejects.toThrow('may have been sent');
    await expect(buyer.act()).rejects.toThrow('may have been sent');
    expect(buyer.wallet.sent).toHaveLength(1);
  });

  test('of a store that fails after it was sent is told with its hash', async () => {
    const buyer = await buyerBefore({});
    const store = { ...buyer.store, save: () => Promise.reject(new Error('disk full')) };
    await expect(buyer.act({ store })).rejects.toMatchObject({ name: 'TransferUndecided', txHash: TX_HASH });
    await expect(buyer.act()).rejects.toThrow('may have been sent');
    await buyer.act({ resume: TX_HASH });
    expect(buyer.wallet.sent).toHaveLength(1);
  });

  test('is sent again only when the caller says that there is none and the market knows of none', async () => {
    const unclaimed = { id: null, payment_status: 'unsubmitted', stage: 'received', do_not_pay_again: false };
    const free = await buyerBefore({ wallet: lost(), payment: unclaimed });
    await expect(free.act()).rejects.toThrow('may have been sent');
    await expect(free.act({ resume: 'nothing_sent' })).rejects.toThrow('may have been sent');
    expect(free.wallet.sent).toHaveLength(2);
    const known = await buyerBefore({ wallet: lost(), payment: { do_not_pay_again: true } });
    await expect(known.act()).rejects.toThrow('may have been sent');
    await expect(known.act({ resume: 'nothing_sent' })).rejects.toThrow('may have been sent');
    expect(known.wallet.sent).toHaveLength(1);
  });
});

test('a store that cannot be written before the transfer keeps it from being sent', async () => {
  const broken = { ...createMemoryTransferStore(), create: () => Promise.reject(new Error('disk full')) };
  const { act, wallet } = await buyerBefore({}, { store: broken });
  await expect(act()).rejects.toThrow('disk full');
  expect(wallet.sent).toEqual([]);
});

test('a saved transfer that cannot be read stops the buyer', async () => {
  const store = { ...createMemoryTransferStore(), load: async () => ({ version: 1, tx_hash: 'torn' }) };
  const { act, wallet } = await buyerBefore({}, { store });
  await expect(act()).rejects.toThrow('cannot be read');
  expect(wallet.sent).toEqual([]);
});

test('an owner who declines is believed, and may be asked again', async () => {
  let declined = 0;
  const wallet = createTransferWallet(() => {
    declined += 1;
    if (declined === 1) throw new TransferNotSent('declined by the owner');
    return TX_HASH;
  });
  const { act } = await buyerBefore({ wallet });
  await expect(act()).rejects.toMatchObject({ name: 'TransferNotSent' });
  expect((await act()).artifact).toBe(ARTIFACT);
  expect(wallet.sent).toHaveLength(2);
});

test('a crash after the hash was saved goes on with the claim, without asking, signing or sending again', async () => {
  const buyer = await buyerBefore({ claims: [pending(60), delivered] }, { maxWaitSeconds: 30 });
  await expect(buyer.act()).rejects.toMatchObject({ name: 'TransferUndecided', doNotPayAgain: true, txHash: TX_HASH });
  await buyer.act({ client: buyer.newClient() });
  expect([buyer.wallet.signed.length, buyer.wallet.sent.length]).toEqual([1, 1]);
  expect(buyer.asked('/api/purchase-intent')).toHaveLength(1);
});

test('two calls at once with one store send one transfer, also when one is through before the other has signed', async () => {
  const { act, wallet } = await buyerBefore({});
  const settled = await Promise.allSettled([act(), act()]);
  expect(wallet.sent).toHaveLength(1);
  expect(settled.some(({ status }) => status === 'fulfilled')).toBe(true);
});

test('two calls that are shown two intents for the same goods send one transfer', async () => {
  const wallet = createTransferWallet();
  const given = { payer: wallet.address, nowMs: 1_800_000_000_000 };
  const intents = ['1a', '2b'].map((byte) => intentAnswer(given, { id: byte.repeat(16) }));
  const { act } = await buyerBefore({ wallet, intents });
  // Delays both signatures until both are requested, so that both calls have already read the store.
  const both = Promise.withResolvers<void>();
  const signMessage: typeof wallet.signMessage = async (asked) => {
    const signature = await wallet.signMessage(asked);
    if (wallet.signed.length === 2) both.resolve();
    await both.promise;
    return signature;
  };
  const patient = { wallet: { ...wallet, signMessage } };
  await Promise.allSettled([act(patient), act(patient)]);
  expect(wallet.sent).toHaveLength(1);
});

describe('without a durable store', () => {
  test('calling again on the same client goes on with the same transfer', async () => {
    const { wallet, base } = await buyerBefore({ claims: [pending(60), delivered] });
    const { store: _, ...bare } = base;
    await expect(buyByTransfer({ ...bare, maxWaitSeconds: 30 })).rejects.toMatchObject({ name: 'TransferUndecided' });
    await buyByTransfer(bare);
    expect(wallet.sent).toHaveLength(1);
  });

  test('an intent that this process has not opened is not paid for: an earlier one may have been', async () => {
    const { wallet, base, newClient } = await buyerBefore({ claims: [pending(60), delivered] });
    const { store: _, ...bare } = base;
    await expect(buyByTransfer({ ...bare, maxWaitSeconds: 30 })).rejects.toMatchObject({ name: 'TransferUndecided' });
    const after = { ...bare, client: newClient() };
    await expect(buyByTransfer(after)).rejects.toMatchObject({ name: 'TransferMayBeSent', intentId: INTENT_ID });
    await buyByTransfer({ ...after, findTransfer: async () => TX_HASH });
    expect(wallet.sent).toHaveLength(1);
  });

  test('a signature that failed is no reason for caution: nothing was sent', async () => {
    const { wallet, base } = await buyerBefore({});
    const { store: _, ...bare } = base;
    const signMessage = () => Promise.reject(new Error('locked'));
    await expect(buyByTransfer({ ...bare, wallet: { ...wallet, signMessage } })).rejects.toThrow('locked');
    await buyByTransfer(bare);
    expect(wallet.sent).toHaveLength(1);
  });
});
