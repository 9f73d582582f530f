import type { Rpc } from '../platform/chain/rpc.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';

export async function readTransactionCount(rpc: Rpc, address: Hex, block: 'latest' | 'pending'): Promise<number> {
  return Number(await readQuantity(rpc, 'eth_getTransactionCount', [address, block]));
}

/** In wei. */
export async function readEther(rpc: Rpc, address: Hex): Promise<bigint> {
  return readQuantity(rpc, 'eth_getBalance', [address, 'latest']);
}

/** Whether the node has it, mined or waiting. */
export async function isKnown(rpc: Rpc, hash: Hex): Promise<boolean> {
  return (await rpc.call('eth_getTransactionByHash', [hash])) !== null;
}

async function readQuantity(rpc: Rpc, method: string, params: readonly unknown[]): Promise<bigint> {
  const answer = await rpc.call(method, params);
  if (typeof answer === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(answer)) return BigInt(answer);
  throw new RpcFailure('malformed', `${method} at ${rpc.endpoint}: not a number`);
}
