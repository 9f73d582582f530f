import { encodeFunctionData, parseAbi } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestChain, usdcAdmin } from '../../../test/support/chain.ts';
import { callContract, readBlock, readCode } from '../../platform/chain/reads.ts';
import { readBlacklisted, readDomainSeparator } from '../../platform/chain/usdc.ts';
import type { Hex } from '../../platform/hex.ts';
import { USDC_ADDRESS, USDC_ROLES, WORLD_ACCOUNTS } from './accounts.ts';
import { deployUsdc, MULTICALL3_ADDRESS } from './deploy-usdc.ts';
import { type LocalChain, startChain } from './start-chain.ts';
import { send } from './transactions.ts';

let chain: LocalChain;
beforeAll(async () => {
  chain = await startTestChain({ finalityBlocks: 8 });
});
afterAll(() => chain.stop());

const abi = parseAbi([
  'function name()',
  'function symbol()',
  'function version()',
  'function currency()',
  'function masterMinter()',
  'function pauser()',
  'function blacklister()',
  'function owner()',
  'function admin()',
]);
type Name = (typeof abi)[number]['name'];

async function ask(functionName: Name, from?: Hex): Promise<Hex> {
  const data = encodeFunctionData({ abi, functionName });
  return callContract(chain.rpc, { to: USDC_ADDRESS, data, ...(from === undefined ? {} : { from }) }, 'latest');
}
const textIn = (answer: Hex): string => Buffer.from(answer.slice(130), 'hex').toString('utf8').replaceAll('\0', '');
const addressIn = (answer: Hex): string => `0x${answer.slice(26)}`;

test('it names itself as on Base', async () => {
  expect(textIn(await ask('name'))).toBe('USD Coin');
  expect(textIn(await ask('symbol'))).toBe('USDC');
  expect(textIn(await ask('version'))).toBe('2');
  expect(textIn(await ask('currency'))).toBe('USD');
});

test('each role is held by its own account, and the proxy serves its admin apart', async () => {
  for (const role of ['masterMinter', 'pauser', 'blacklister', 'owner'] as const) {
    expect(addressIn(await ask(role))).toBe(USDC_ROLES[role].address);
  }
  await expect(ask('name', USDC_ROLES.proxyAdmin.address)).rejects.toMatchObject({ kind: 'error', code: 3 });
  expect(addressIn(await ask('admin'))).toBe(USDC_ROLES.proxyAdmin.address);
});

test('the deployment is final when it is done', async () => {
  const fresh = await startChain({ finalityBlocks: 8 });
  await deployUsdc(fresh);
  expect(await readDomainSeparator(fresh.rpc, USDC_ADDRESS, 'finalized')).toMatch(/^0x02fa/);
  expect(await readBlacklisted(fresh.rpc, USDC_ADDRESS, USDC_ADDRESS, 'finalized')).toBe(true);
  await fresh.stop();
});

test('nothing can be sent to the token itself', async () => {
  const sent = await usdcAdmin(chain).transfer(WORLD_ACCOUNTS.buyerOne, USDC_ADDRESS, 1n);
  expect(sent.status).toBe('reverted');
});

test('a second deployment changes nothing', async () => {
  const before = await readBlock(chain.rpc, 'latest');
  await deployUsdc(chain);
  expect(await readBlock(chain.rpc, 'latest')).toEqual(before);
});

test('a deployment that was broken off is refused, not used', async () => {
  const fresh = await startChain();
  await deployUsdc(fresh);
  const { masterMinter, minter } = USDC_ROLES;
  const remove = parseAbi(['function removeMinter(address minter)']);
  const data = encodeFunctionData({ abi: remove, functionName: 'removeMinter', args: [minter.address] });
  expect(await send(fresh, masterMinter, { to: USDC_ADDRESS, data })).toMatchObject({ status: 'success' });
  await expect(deployUsdc(fresh)).rejects.toThrow('incomplete USDC');
  await fresh.stop();
});

test('Multicall3 answers at its address', async () => {
  const data = encodeFunctionData({
    abi: parseAbi(['function getChainId() view returns (uint256)']),
    functionName: 'getChainId',
  });
  expect(BigInt(await callContract(chain.rpc, { to: MULTICALL3_ADDRESS, data }, 'latest'))).toBe(8453n);
});

test('on a chain with interval mining it does not wait for the blocks', async () => {
  const slow = await startTestChain({ blockTimeSeconds: 3_600, finalityBlocks: 2 });
  expect(await readCode(slow.rpc, USDC_ADDRESS, 'finalized')).not.toBe('0x');
  await slow.stop();
});
