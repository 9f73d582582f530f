import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawTransaction, reorg, startTestChain, usdcAdmin } from '../../../test/support/chain.ts';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../local/chain/accounts.ts';
import type { LocalChain } from '../../local/chain/start-chain.ts';
import { send, submit } from '../../local/chain/transactions.ts';
import type { Hex } from '../hex.ts';
import { readBlock, readChainId, readCode, readLogs, readReceipt } from './reads.ts';
import type { Rpc } from './rpc.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from './usdc.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;
const word = (digit: string): Hex => `0x${digit.repeat(64)}`;

let chain: LocalChain;
let rpc: Rpc;
beforeAll(async () => {
  chain = await startTestChain({ finalityBlocks: 4 });
  rpc = chain.rpc;
});
afterAll(() => chain.stop());

test('chain id, code and the three heads', async () => {
  expect(await readChainId(rpc)).toBe(8453n);
  expect(await readCode(rpc, USDC_ADDRESS, 'finalized')).not.toBe('0x');
  expect(await readCode(rpc, sellerOne.address, 'latest')).toBe('0x');
  const heads = await Promise.all([readBlock(rpc, 'latest'), readBlock(rpc, 'safe'), readBlock(rpc, 'finalized')]);
  const [latest = 0n, safe, finalized] = heads.map((head) => head?.number ?? -1n);
  expect([latest - 2n, latest - 4n]).toEqual([safe, finalized]);
});

test('a transfer is found by its receipt, in its block by number and hash, and by its logs', async () => {
  const receipt = await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, 5n);
  expect(receipt).toMatchObject({ status: 'success', from: buyerOne.address, to: USDC_ADDRESS });
  const block = await readBlock(rpc, receipt.blockNumber);
  expect(block).toMatchObject({ hash: receipt.blockHash, transactions: [receipt.transactionHash] });
  expect(await readBlock(rpc, receipt.blockHash)).toEqual(block);
  expect(await readBlock(rpc, receipt.blockNumber - 1n)).toMatchObject({ hash: block?.parentHash });

  const filter = { address: USDC_ADDRESS, topics: [TRANSFER_TOPIC, addressTopic(buyerOne.address)] };
  const logs = await readLogs(rpc, { ...filter, blockHash: receipt.blockHash });
  expect(logs).toEqual(receipt.logs);
  expect(logs.map(decodeTransfer)).toEqual([{ from: buyerOne.address, to: sellerOne.address, value: 5n }]);
  expect(await readLogs(rpc, { ...filter, fromBlock: receipt.blockNumber })).toEqual(logs);
  expect(await readLogs(rpc, { ...filter, fromBlock: 0n, toBlock: receipt.blockNumber - 1n })).toEqual([]);
  const either = [TRANSFER_TOPIC, null, [addressTopic(buyerOne.address), addressTopic(sellerOne.address)]];
  expect(await readLogs(rpc, { address: USDC_ADDRESS, topics: either, blockHash: receipt.blockHash })).toEqual(logs);
});

test('a reverted transaction has a receipt that says so, without logs', async () => {
  const receipt = await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, 10n ** 18n);
  expect(receipt).toMatchObject({ status: 'reverted', logs: [] });
});

test('what the node does not know reads as null', async () => {
  expect(await readReceipt(rpc, word('a'))).toBeNull();
  expect(await readBlock(rpc, word('a'))).toBeNull();
  expect(await readBlock(rpc, 10_000_000n)).toBeNull();
});

test('a transaction that waits for its block has no receipt', async () => {
  await rpc.call('evm_setAutomine', [false]);
  const hash = await submit(chain, buyerOne, { to: sellerOne.address, value: 1n });
  expect(await readReceipt(rpc, hash)).toBeNull();
  await chain.mine();
  expect(await readReceipt(rpc, hash)).toMatchObject({ status: 'success' });
  await rpc.call('evm_setAutomine', [true]);
});

test('a reorg that drops a transaction takes away its receipt, its block and its logs', async () => {
  const receipt = await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, 7n);
  await reorg(chain, 2);
  expect(await readReceipt(rpc, receipt.transactionHash)).toBeNull();
  expect(await readBlock(rpc, receipt.blockHash)).toBeNull();
  const filter = { address: USDC_ADDRESS, topics: [TRANSFER_TOPIC] };
  expect(await readLogs(rpc, { ...filter, fromBlock: receipt.blockNumber })).toEqual([]);
});

test('a reorg that moves a transaction keeps its hash and changes its block', async () => {
  const before = await usdcAdmin(chain).transfer(buyerOne, sellerOne.address, 9n);
  await chain.mine(2);
  const raw = await rawTransaction(chain, before.transactionHash);
  await reorg(chain, 3, [[raw, 1]]);
  const after = await readReceipt(rpc, before.transactionHash);
  expect(after).toMatchObject({ status: 'success', blockNumber: before.blockNumber + 1n });
  expect(after?.blockHash).not.toBe(before.blockHash);
});

test('a plain transfer of ether has a receipt without logs', async () => {
  expect(await send(chain, buyerOne, { to: sellerOne.address, value: 1n })).toMatchObject({ logs: [] });
});
