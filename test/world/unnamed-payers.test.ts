import { encodeFunctionData, hashMessage, parseAbi } from 'viem';
import { expect, it } from 'vitest';
import { checksummed } from '../../src/contract/chain-values.ts';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { MULTICALL3_ADDRESS } from '../../src/local/chain/deploy-usdc.ts';
import { send } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { countRows } from '../support/database.ts';
import { claim, openIntent, type ShownIntent, signChallenge, statusBy } from '../support/direct.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { createSafe, type SafeWallet } from '../support/wallets/safe.ts';
import { createContractWallet } from './contract-wallet.ts';

const trade = testTrade();
const { world, buyer } = trade;
const { stranger } = WORLD_ACCOUNTS;

async function safeOf(owners: number, threshold: number): Promise<SafeWallet> {
  const safe = await createSafe(world.chain, { owners, threshold, usdcUnits: 4n * PRICE });
  await safe.deploy();
  await world.finalize();
  return safe;
}

const signBy = (safe: SafeWallet, { challenge }: ShownIntent): Promise<Hex> => safe.sign(hashMessage(challenge));

it.each([
  [1, 1],
  [3, 2],
])('a Safe with %i owners, of whom %i sign, pays for an intent that does not name it', async (owners, threshold) => {
  const safe = await safeOf(owners, threshold);
  const { id, artifact } = await trade.goods();
  const intent = await openIntent(world, buyer, id);
  const signature = await signBy(safe, intent);
  const txHash = await safe.transfer(intent.seller_wallet, PRICE);
  const before = await countRows(world.db.database);
  expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({
    status: 202,
    body: { do_not_pay_again: true, retry: 'same_request' },
  });
  // Two signatures match no key, and one is from a key that sent no money. So no row is stored until the senders can be asked.
  expect(await countRows(world.db.database)).toEqual(before);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  const again = await claim(world, buyer, id, { intent, txHash, signature });
  expect(again).toMatchObject({ status: 200, body: { artifact, receipt: { payer: checksummed(safe.address) } } });
});

it('a Safe claims before its transaction is in a block: the pass cannot tell who signed, and nobody is told to pay again', async () => {
  const safe = await safeOf(1, 1);
  const { id, artifact } = await trade.goods();
  const intent = await openIntent(world, buyer, id);
  const signature = await signBy(safe, intent);
  const before = await world.chain.rpc.call('evm_snapshot', []);
  const txHash = await safe.transfer(intent.seller_wallet, PRICE);
  await world.chain.rpc.call('evm_revert', [before]);
  expect(await claim(world, buyer, id, { intent, txHash, signature })).toMatchObject({ status: 202 });
  expect(await safe.transfer(intent.seller_wallet, PRICE)).toBe(txHash);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect(await statusBy(world, { intent_id: intent.id })).toMatchObject({
    ...{ payment_status: 'unpaid', outcome: 'wrong_payer', do_not_pay_again: true },
    next_step: expect.stringContaining('send the same claim again'),
  });
  const again = await claim(world, buyer, id, { intent, txHash, signature });
  expect(again).toMatchObject({ status: 200, body: { artifact, receipt: { payer: checksummed(safe.address) } } });
});

it.each(['before', 'after', 'at once'] as const)(
  'a rival who claims the transfer of a Safe %s gets nothing and blocks nothing',
  async (when) => {
    const safe = await safeOf(1, 1);
    const { id, artifact } = await trade.goods();
    const rival = await world.join(`rival-${when.replace(' ', '-')}`);
    const intent = await openIntent(world, buyer, id);
    const foreign = await openIntent(world, rival, id);
    const txHash = await safe.transfer(intent.seller_wallet, PRICE);
    await world.finalize();
    const mine = await signBy(safe, intent);
    const others = [await signChallenge(stranger, foreign), mine, `${mine}${mine.slice(2)}`, '0x00'];
    const own = () => claim(world, buyer, id, { intent, txHash, signature: mine });
    const steal = async () => {
      for (const signature of others) {
        const answer = await claim(world, rival, id, { intent: foreign, txHash, signature });
        expect([answer.status, JSON.stringify(answer.body).includes(artifact)]).not.toContain(200);
        expect(JSON.stringify(answer.body)).not.toContain(artifact);
      }
    };
    if (when === 'before') await steal();
    const [answer] = await Promise.all([own(), ...(when === 'at once' ? [steal()] : [])]);
    if (when === 'after') await steal();
    expect(answer).toMatchObject({ status: 200, body: { artifact } });
  },
);

const abi = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[])',
]);

/** Makes one transaction in which each wallet transfers the price, in order. */
async function transferTogether(from: readonly Hex[], to: string): Promise<Hex> {
  const calls = from.map((payer) => ({
    target: USDC_ADDRESS,
    allowFailure: false,
    callData: encodeFunctionData({ abi, functionName: 'transferFrom', args: [payer, to.toLowerCase() as Hex, PRICE] }),
  }));
  const data = encodeFunctionData({ abi, functionName: 'aggregate3', args: [calls] });
  const { status, transactionHash } = await send(world.chain, stranger, { to: MULTICALL3_ADDRESS, data });
  if (status !== 'success') throw new Error('they were not sent together');
  return transactionHash;
}

it('at most four senders are asked, in the order of their transfers', async () => {
  const wallet = await createContractWallet(world.chain, 4n * PRICE);
  await wallet.deploy();
  const approve = encodeFunctionData({ abi, functionName: 'approve', args: [MULTICALL3_ADDRESS, 10n * PRICE] });
  await send(world.chain, wallet.owner, { to: wallet.address, data: approve });
  const others: TestAccount[] = [];
  for (let at = 0; at < 4; at += 1) others.push(await trade.wallet(4n * PRICE, GAS_WEI));
  for (const other of others) await send(world.chain, other, { to: USDC_ADDRESS, data: approve });
  const addresses = others.map(({ address }) => address);
  for (const [place, order] of [
    [4, [...addresses.slice(0, 3), wallet.address, ...addresses.slice(3)]],
    [5, [...addresses, wallet.address]],
  ] as const) {
    const { id } = await trade.goods();
    const intent = await openIntent(world, buyer, id);
    const txHash = await transferTogether(order, intent.seller_wallet);
    await world.finalize();
    const signature = await signChallenge(wallet.owner, intent);
    const answer = await claim(world, buyer, id, { intent, txHash, signature });
    const expected = place === 4 ? [200, undefined] : [422, 'wrong_payer'];
    expect([answer.status, answer.body['reason']]).toEqual(expected);
  }
});
