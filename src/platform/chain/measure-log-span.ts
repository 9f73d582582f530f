import type { Hex } from '../hex.ts';
import type { Log } from '../log.ts';
import { countBlocks, logSpanOf, readLogsAt } from './log-span.ts';
import { readBlock } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import { AUTHORIZATION_USED_TOPIC, addressTopic } from './usdc.ts';

/** Address that authorizes no transfers, so the answer is empty for any number of blocks. */
const NO_WALLET: Hex = `0x${'0'.repeat(40)}`;

/**
 * Queries a provider for the logs from the finalized block to the latest. Warns if the provider needs more than one query for that: each
 * payment then costs more queries, so the operator may want another plan. Changes no decision.
 */
export async function measureLogSpan(rpc: Rpc, { usdc, log }: { usdc: Hex; log: Log }): Promise<void> {
  const { endpoint } = rpc;
  try {
    const [finalized, latest] = await Promise.all([readBlock(rpc, 'finalized'), readBlock(rpc, 'latest')]);
    if (finalized === null || latest === null) return;
    const needed = { fromBlock: finalized.number, toBlock: latest.number };
    const topics = [AUTHORIZATION_USED_TOPIC, addressTopic(NO_WALLET)];
    const before = logSpanOf(rpc);
    await readLogsAt('newest', rpc, { address: usdc, topics }, needed);
    if (logSpanOf(rpc) === before) return;
    const [blocks_taken, blocks_needed] = [Number(logSpanOf(rpc)), Number(countBlocks(needed))];
    log.warn('log_span_short', { endpoint, blocks_taken, blocks_needed });
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    log.warn('log_span_unknown', { endpoint, error });
  }
}
