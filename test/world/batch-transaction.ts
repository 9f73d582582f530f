import { encodeFunctionData, getContractAddress, parseAbi } from 'viem';
import { type TestAccount, USDC_ADDRESS } from '../../src/local/chain/accounts.ts';
import { send } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { World } from '../support/market-world.ts';

const abi = parseAbi([
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
]);

/** Returns the init code of a contract creation that makes these token calls: it copies each call's data from the code, then runs CALL. */
function batchCode(calls: readonly Hex[]): Hex {
  const datas = calls.map((call) => call.slice(2));
  const word = (value: number): string => value.toString(16).padStart(4, '0');
  let offset = 44 * datas.length + 1;
  let code = '';
  for (const data of datas) {
    const length = word(data.length / 2);
    code += `61${length}61${word(offset)}600039`;
    code += `6000600061${length}6000600073${USDC_ADDRESS.slice(2)}5af150`;
    offset += data.length / 2;
  }
  return `0x${code}00${datas.join('')}`;
}

/** Makes several token calls in one transaction of `sender`. Resolves with its hash once it is mined. */
export async function sendBatch(world: Pick<World, 'chain'>, sender: TestAccount, calls: readonly Hex[]): Promise<Hex> {
  const { status, transactionHash } = await send(world.chain, sender, { data: batchCode(calls) }, 3_000_000n);
  if (status !== 'success') throw new Error('the batch reverted');
  return transactionHash;
}

export interface BatchedTransfer {
  to: string;
  units: bigint;
}

/**
 * Makes several plain transfers of one wallet in one transaction. The wallet first approves the contract that the transaction will create.
 */
export async function transferTogether(
  world: World,
  from: TestAccount,
  transfers: readonly BatchedTransfer[],
): Promise<Hex> {
  const count = await world.chain.rpc.call('eth_getTransactionCount', [from.address, 'latest']);
  const spender = getContractAddress({ from: from.address, nonce: BigInt(Number(count)) + 1n });
  const total = transfers.reduce((sum, { units }) => sum + units, 0n);
  const approval = encodeFunctionData({ abi, functionName: 'approve', args: [spender, total] });
  await send(world.chain, from, { to: USDC_ADDRESS, data: approval });
  const calls = transfers.map(({ to, units }) =>
    encodeFunctionData({ abi, functionName: 'transferFrom', args: [from.address, to.toLowerCase() as Hex, units] }),
  );
  return await sendBatch(world, from, calls);
}
