import { parseTransaction } from 'viem';
import { readBlock, type StateBlock } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { readAuthorizationState, readBalance, readBlacklisted, readPaused } from '../platform/chain/usdc-reads.ts';
import type { Context } from './context.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import type { Mined } from './read-mined.ts';

/**
 * Why a settlement was mined and failed. Another transaction used or cancelled the authorization, the token did not move money, it came
 * too late, or the money went elsewhere: all of that happens to honest payers. unknown is what only the payer's own contract can bring
 * about.
 */
export type Cause = 'nonce_used' | 'usdc_paused' | 'usdc_blocked' | 'expired' | 'balance' | 'unknown';

/** The token looks at pause, blocked wallets, times and nonce before it asks the payer's contract: such a revert is cheap. */
const EARLY_GAS = 81_000n;
const GAS_PER_BYTE = 40n;
/** The balance it looks at afterwards. What a contract took until then must be what a wallet takes to check a signature. */
const SIGNATURE_GAS = 250_000n;

export async function findCause(context: Context, entry: Readonly<Entry>, mined: Mined): Promise<Cause> {
  try {
    return await judge(context, entry, mined, mined.blockNumber);
  } catch (error) {
    // A node without the states of past blocks; it still has the newest.
    if (error instanceof RpcFailure && error.kind === 'error') return judge(context, entry, mined, 'latest');
    throw error;
  }
}

async function judge({ rpc, network }: Context, entry: Readonly<Entry>, mined: Mined, at: StateBlock): Promise<Cause> {
  const { usdc } = network;
  const { from, to, nonce, value, validBefore } = entry.authorization;
  const [block, used, paused, payerBlocked, payeeBlocked, balance] = await Promise.all([
    readBlock(rpc, mined.blockNumber),
    readAuthorizationState(rpc, usdc, from, nonce, at),
    readPaused(rpc, usdc, at),
    readBlacklisted(rpc, usdc, from, at),
    readBlacklisted(rpc, usdc, to, at),
    readBalance(rpc, usdc, from, at),
  ]);
  if (mined.gasUsed <= earlyGas(entry)) {
    if (used) return 'nonce_used';
    if (paused) return 'usdc_paused';
    if (payerBlocked || payeeBlocked) return 'usdc_blocked';
    if (block !== null && block.timestamp >= validBefore) return 'expired';
  }
  return balance < value && mined.gasUsed <= SIGNATURE_GAS ? 'balance' : 'unknown';
}

function earlyGas(entry: Readonly<Entry>): bigint {
  const { data = '0x' } = parseTransaction(newestOf(entry).raw);
  return EARLY_GAS + (GAS_PER_BYTE * BigInt(data.length - 2)) / 2n;
}
