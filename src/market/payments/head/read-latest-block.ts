import { readBlock } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';

/** Number of the newest block: only what happens after it counts for an attempt that is opened now. */
export async function readLatestBlock(market: Pick<Market, 'rpc'>): Promise<bigint> {
  try {
    const latest = await readBlock(market.rpc, 'latest');
    if (latest !== null) return latest.number;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
  throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
}
