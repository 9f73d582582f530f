import type { HeadReading } from './accept-head.ts';
import { type Block, readBlock, readChainId } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import type { FinalizedHead } from './sighting.ts';

/** What a provider says of its chain at one moment. */
export async function readProviderHead(
  rpc: Rpc,
  watermark: Pick<FinalizedHead, 'number'> | null,
): Promise<HeadReading & { chainId: bigint; latest: Block }> {
  const finalized = await readBlock(rpc, 'finalized');
  const [chainId, latest, reread, atWatermark] = await Promise.all([
    readChainId(rpc),
    readBlock(rpc, 'latest'),
    finalized && readBlock(rpc, finalized.number),
    watermark && readBlock(rpc, watermark.number),
  ]);
  if (latest === null) throw new RpcFailure('malformed', `${rpc.endpoint} has no latest block`);
  return { chainId, latest, finalized, reread, atWatermark };
}
