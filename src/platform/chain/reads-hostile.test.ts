import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RpcServer, resultIs, startRpcServer } from '../../../test/support/rpc-server.ts';
import type { Hex } from '../hex.ts';
import { readBlock, readChainId, readCode, readLogs, readReceipt } from './reads.ts';
import { createRpc, type Rpc, RpcFailure } from './rpc.ts';

// The node in these tests lies or is broken, so each answer must be checked before it is believed.

const word = (digit: string): Hex => `0x${digit.repeat(64)}`;

let node: RpcServer;
let rpc: Rpc;
beforeAll(async () => {
  node = await startRpcServer();
  rpc = createRpc({ url: node.url });
});
afterAll(() => node.close());

const address: Hex = `0x${'c'.repeat(40)}`;
const log = {
  address,
  topics: [word('1'), word('2')],
  data: '0x',
  blockNumber: '0x10',
  blockHash: word('b'),
  transactionHash: word('d'),
  logIndex: '0x0',
  removed: false,
};
const block = { number: '0x10', hash: word('b'), parentHash: word('a'), timestamp: '0x5', transactions: [word('d')] };
const receipt = {
  transactionHash: word('d'),
  blockNumber: '0x10',
  blockHash: word('b'),
  status: '0x1',
  from: address,
  to: null,
  logs: [log],
};
const malformed = async (work: Promise<unknown>): Promise<void> => {
  await expect(work).rejects.toMatchObject({ name: 'RpcFailure', kind: 'malformed' });
};

test('the honest form is read, with upper-case hex lowered', async () => {
  node.answer(resultIs({ ...block, hash: `0x${'B'.repeat(64)}`, extra: 1 }));
  expect(await readBlock(rpc, 16n)).toEqual({
    number: 16n,
    hash: word('b'),
    parentHash: word('a'),
    timestamp: 5n,
    transactions: [word('d')],
  });
  node.answer(resultIs(receipt));
  expect(await readReceipt(rpc, word('d'))).toMatchObject({ to: null, logs: [{ logIndex: 0, blockNumber: 16n }] });
});

test.each([
  ['no object', 'block'],
  ['a number that is no quantity', { ...block, number: 16 }],
  ['an empty quantity', { ...block, timestamp: '0x' }],
  ['a quantity over 256 bits', { ...block, timestamp: `0x1${'0'.repeat(64)}` }],
  ['a short hash', { ...block, hash: '0xbb' }],
  ['no hash, as a block not yet made', { ...block, hash: null }],
  ['whole transactions', { ...block, transactions: [{ hash: word('d') }] }],
  ['no transactions', { ...block, transactions: undefined }],
  ['another number than asked', { ...block, number: '0x11' }],
])('a block with %s is malformed', async (_name, answer) => {
  node.answer(resultIs(answer));
  await malformed(readBlock(rpc, 16n));
});

test('a block of another hash than asked is malformed', async () => {
  node.answer(resultIs(block));
  await malformed(readBlock(rpc, word('a')));
});

test.each([
  ['null', null],
  ['zero', word('0')],
])('a receipt whose block hash is %s is of no block yet', async (_name, blockHash) => {
  node.answer(resultIs({ ...receipt, blockHash, blockNumber: null }));
  expect(await readReceipt(rpc, word('d'))).toBeNull();
});

test.each([
  ['of another transaction', { ...receipt, transactionHash: word('e') }],
  ['without a block hash', { ...receipt, blockHash: undefined }],
  ['without a status', { ...receipt, status: undefined }],
  ['of an unknown status', { ...receipt, status: '0x2' }],
  ['without logs', { ...receipt, logs: null }],
  ['with a log of another transaction', { ...receipt, logs: [{ ...log, transactionHash: word('e') }] }],
  ['with a log of another block', { ...receipt, logs: [{ ...log, blockHash: word('e') }] }],
  ['with a log of another height', { ...receipt, logs: [{ ...log, blockNumber: '0x11' }] }],
  ['with one log twice', { ...receipt, logs: [log, log] }],
  ['with five topics', { ...receipt, logs: [{ ...log, topics: Array(5).fill(word('1')) }] }],
  ['with data of half a byte', { ...receipt, logs: [{ ...log, data: '0x1' }] }],
])('a receipt %s is malformed', async (_name, answer) => {
  node.answer(resultIs(answer));
  await malformed(readReceipt(rpc, word('d')));
});

test.each([
  ['of another address', { address: `0x${'e'.repeat(40)}` }],
  ['of another block', { blockHash: word('e') }],
  ['with another topic', { topics: [word('1'), word('3')] }],
  ['with too few topics', { topics: [word('1')] }],
])('a log %s than the filter asks for is malformed', async (_name, change) => {
  node.answer(resultIs([{ ...log, ...change }]));
  await malformed(readLogs(rpc, { address, topics: [null, word('2')], blockHash: word('b') }));
});

test('logs come in the order of the chain, and those outside the range are malformed', async () => {
  node.answer(resultIs([{ ...log, logIndex: '0x1' }, log, { ...log, blockNumber: '0xf', logIndex: '0x9' }]));
  const logs = await readLogs(rpc, { address, topics: [], fromBlock: 15n, toBlock: 16n });
  expect(logs.map((one) => [one.blockNumber, one.logIndex])).toEqual([
    [15n, 9],
    [16n, 0],
    [16n, 1],
  ]);
  await malformed(readLogs(rpc, { address, topics: [], fromBlock: 16n }));
  await malformed(readLogs(rpc, { address, topics: [], fromBlock: 0n, toBlock: 15n }));
});

test('a filter without a place, or with two, is a mistake of the caller', async () => {
  await expect(readLogs(rpc, { address, topics: [] })).rejects.toThrow(TypeError);
  const both = { address, topics: [], fromBlock: 1n, blockHash: word('b') };
  await expect(readLogs(rpc, both)).rejects.toThrow(TypeError);
});

test('whatever JSON comes, a read ends in a value or in an RpcFailure', async () => {
  const oddly = fc.oneof(fc.jsonValue(), fc.record({ blockHash: fc.jsonValue(), logs: fc.jsonValue() }));
  await fc.assert(
    fc.asyncProperty(oddly, async (answer) => {
      node.answer(resultIs(answer));
      const reads = [
        readChainId(rpc),
        readBlock(rpc, 'latest'),
        readReceipt(rpc, word('d')),
        readLogs(rpc, { address, topics: [], fromBlock: 0n }),
        readCode(rpc, address, 'latest'),
      ];
      for (const outcome of await Promise.allSettled(reads)) {
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RpcFailure);
      }
    }),
    { numRuns: 60, seed: 7 },
  );
});
