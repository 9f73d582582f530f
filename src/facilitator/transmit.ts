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
