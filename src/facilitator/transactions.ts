import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { Authorization } from '../platform/chain/authorization.ts';
import { type Rpc, RpcFailure } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';

/**
 * taken: the node has it. refused: it has not, and nothing was sent on. passed: the sender's place in the order is used already, by
 * this transaction or another. unknown: it may be anywhere.
 */
export type Transmission = 'taken' | 'refused' | 'passed' | 'unknown';

const HAS_IT = /already known|already imported|known transaction|alreadyknown/i;
const PASSED = /nonce too low|nonce is too low|old nonce/i;
const REFUSED =
  /insufficient funds|underpriced|intrinsic gas|exceeds block gas|less than block base fee|fee cap|nonce too high|invalid sender|invalid chain/i;

export async function transmit(rpc: Rpc, raw: Hex): Promise<Transmission> {
  try {
    await rpc.call('eth_sendRawTransaction', [raw]);
    return 'taken';
  } catch (error) {
    if (!(error instanceof RpcFailure) || error.kind !== 'error') return 'unknown';
    if (HAS_IT.test(error.message)) return 'taken';
    if (PASSED.test(error.message)) return 'passed';
    return REFUSED.test(error.message) ? 'refused' : 'unknown';
  }
}

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

const settleAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** The one call that this server's key is for. */
export function settleData(authorization: Authorization, signature: Hex): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return encodeFunctionData({ abi: settleAbi, functionName: 'transferWithAuthorization', args });
}
