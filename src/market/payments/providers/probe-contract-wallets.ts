import { checkContractSignature } from '../../../platform/chain/contract-signature.ts';
import { readCode } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Market } from '../../context.ts';

export type WalletService = 'served' | 'not_served' | 'unknown';

/**
 * Whether the primary answers as of the finalized block, which may lie behind the state that it keeps. Asked as a claim would ask,
 * of a contract that is surely there and has nothing to say.
 */
export async function probeContractWallets({ rpc, config }: Pick<Market, 'rpc' | 'config'>): Promise<WalletService> {
  const { usdc } = config.network;
  try {
    const [code] = await Promise.all([
      readCode(rpc, usdc, 'finalized'),
      checkContractSignature(rpc, usdc, `0x${'0'.repeat(64)}`, '0x', { block: 'finalized' }),
    ]);
    return code === '0x' ? 'unknown' : 'served';
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return error.kind === 'error' ? 'not_served' : 'unknown';
  }
}
