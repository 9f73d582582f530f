import { afterAll, beforeAll, expect, test } from 'vitest';
import { resultIs, startRpcServer } from '../../../test/support/rpc-server.ts';
import { type LocalChain, startChain } from '../../local/chain/start-chain.ts';
import type { Hex } from '../hex.ts';
import { createRpc } from './rpc.ts';
import { checkContractSignature } from './signature.ts';

const digest: Hex = `0x${'d1'.repeat(32)}`;
const other: Hex = `0x${'d2'.repeat(32)}`;
const signature: Hex = `0x${'5'.repeat(130)}`;
const wallet: Hex = `0x${'77'.repeat(20)}`;

const MAGIC = `1626ba7e${'0'.repeat(56)}`;
const RETURN_TOP = '60005260206000f3';
/** Bytecode that returns `word`. */
const answers = (word: string): Hex => `0x7f${word}${RETURN_TOP}`;
/** Bytecode that returns `MAGIC` if the program leaves 1 on the stack, else 0. */
const ifFlag = (program: string): Hex => `0x${program}7f${MAGIC}02${RETURN_TOP}`;

let chain: LocalChain;
beforeAll(async () => {
  chain = await startChain({ finalityBlocks: 2 });
});
afterAll(() => chain.stop());

async function place(code: Hex): Promise<void> {
  await chain.rpc.call('anvil_setCode', [wallet, code]);
}
const check = (text = digest, signed = signature): Promise<boolean> =>
  checkContractSignature(chain.rpc, { wallet, digest: text, signature: signed });

test('a wallet that knows the text says yes to it and no to another', async () => {
  // calldataload(4) == digest
  await place(ifFlag(`7f${digest.slice(2)}60043514`));
  expect(await check(digest)).toBe(true);
  expect(await check(other)).toBe(false);
});

test('the wallet gets the whole signature', async () => {
  // calldataload(0x44) is the length of the signature, calldataload(0x64) its first word.
  await place(ifFlag(`604435604114${`7f${'5'.repeat(64)}`}60643514${'16'}`));
  expect(await check()).toBe(true);
  expect(await check(digest, `0x${'6'.repeat(130)}`)).toBe(false);
  expect(await check(digest, '0x')).toBe(false);
});

test('the wallet runs within the gas cap', async () => {
  // gas < 500_001 and gas > 450_000
  await place(ifFlag('6207a1215a106206ddd05a1116'));
  expect(await check()).toBe(true);
});

test.each<[string, Hex]>([
  ['has no code', '0x'],
  ['answers nothing', '0x00'],
  ['answers four bytes only', `0x7f${MAGIC}60005260046000f3`],
  ['answers another word', answers('f'.repeat(64))],
  ['answers true', answers('1'.padStart(64, '0'))],
  ['answers the right bytes with others behind', answers(MAGIC.replace(/0$/, '1'))],
  ['answers a word the chain would not take as code', answers(`ef${'0'.repeat(62)}`)],
  ['gives back what it was asked', '0x366000600037366000f3'],
  ['reverts', '0x60006000fd'],
  ['reverts with the right word', `0x7f${MAGIC}60005260206000fd`],
  ['has a broken program', '0xfe'],
  ['runs for ever', '0x5b600056'],
  ['answers with megabytes', '0x623fffff6000f3'],
  ['writes', `0x6001600055${answers(MAGIC).slice(2)}`],
])('a wallet that %s says no', async (_name, code) => {
  await place(code);
  expect(await check()).toBe(false);
});

test('a signature too large to ask about is refused unasked', async () => {
  await place(answers(MAGIC));
  expect(await check(digest, `0x${'00'.repeat(39_000)}`)).toBe(true);
  expect(await check(digest, `0x${'00'.repeat(41_000)}`)).toBe(false);
});

test('the block is the one asked for', async () => {
  const rpc = chain.rpc;
  await place('0x');
  await chain.mine(3);
  await place(answers(MAGIC));
  await chain.mine(1);
  expect(await checkContractSignature(rpc, { wallet, digest, signature }, { block: 'latest' })).toBe(true);
  expect(await checkContractSignature(rpc, { wallet, digest, signature }, { block: 'finalized' })).toBe(false);
  await chain.mine(2);
  expect(await checkContractSignature(rpc, { wallet, digest, signature }, { block: 'finalized' })).toBe(true);
  await expect(checkContractSignature(rpc, { wallet, digest, signature }, { block: 10_000n })).rejects.toMatchObject({
    name: 'RpcFailure',
    kind: 'error',
  });
});

test('a node that cannot tell is never a no', async () => {
  const node = await startRpcServer();
  const rpc = createRpc({ url: node.url });
  const ask = (deadlineMs = 30_000) => checkContractSignature(rpc, { wallet, digest, signature }, { deadlineMs });
  for (const result of ['0x', '0x01', null]) {
    node.answer(resultIs(result));
    await expect(ask()).rejects.toMatchObject({ kind: 'malformed' });
  }
  node.answer((response) => {
    response.writeHead(503).end();
  });
  await expect(ask()).rejects.toMatchObject({ kind: 'http' });
  node.answer(() => {});
  await expect(ask(100)).rejects.toMatchObject({ kind: 'timeout' });
  await node.close();
});
