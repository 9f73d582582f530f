import { encodeFunctionData } from 'viem';
import { callAll, type RpcCall } from '../../platform/chain/rpc.ts';
import type { Hex } from '../../platform/hex.ts';
import { USDC_ROLES } from './accounts.ts';
import { submit, waitForReceipt } from './send-transaction.ts';
import type { LocalChain } from './start-chain.ts';
import { USDC_ADDRESS, usdcWriteAbi } from './usdc-contract.ts';

export interface Funding {
  address: Hex;
  usdcUnits?: bigint;
  /** Sets the balance, where `usdcUnits` are added to it. */
  wei?: bigint;
}

/** anvil stops mining when some thousand transactions wait. */
const AT_ONCE = 100;

/** Gives out test money. Resolves when all of it is there. */
export async function fund(chain: LocalChain, fundings: readonly Funding[]): Promise<void> {
  for (let at = 0; at < fundings.length; at += AT_ONCE) await fundSome(chain, fundings.slice(at, at + AT_ONCE));
}

async function fundSome(chain: LocalChain, fundings: readonly Funding[]): Promise<void> {
  const balances = fundings.flatMap(({ address, wei }) => (wei === undefined ? [] : [balanceCall(address, wei)]));
  await callAll(chain.rpc, balances);
  const mints: Hex[] = [];
  for (const { address, usdcUnits } of fundings) {
    if (usdcUnits === undefined || usdcUnits === 0n) continue;
    const data = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'mint', args: [address, usdcUnits] });
    mints.push(await submit(chain, USDC_ROLES.minter, { to: USDC_ADDRESS, data }));
  }
  if (mints.length > 0 && !chain.automine) await chain.mine();
  for (const hash of mints) {
    const { status } = await waitForReceipt(chain, hash);
    if (status !== 'success') throw new Error(`minting test USDC reverted (${hash})`);
  }
}

export function balanceCall(address: Hex, wei: bigint): RpcCall {
  return { method: 'anvil_setBalance', params: [address, `0x${wei.toString(16)}`] };
}
