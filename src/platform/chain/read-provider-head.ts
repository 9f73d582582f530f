import type { HeadReading } from './accept-head.ts';
import { type Block, readBlock, readChainId } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';
import type { FinalizedHead } from './sighting.ts';

/** What a provider says of its chain at one moment. */
export async function readProviderHead(
  rpc: Rpc,
  watermark: Pick<FinalizedHead, 'number'> | null,
): Promise<HeadReading & { chainId: bigint; latest: Block }> {
  const [chainId, finalized, latest, atWatermark] = await Promise.all([
    readChainId(rpc),
    readBlock(rpc, 'finalized'),
    readBlock(rpc, 'latest'),
    watermark && readBlock(rpc, watermark.number),
  ]);
  if (latest === null) throw new RpcFailure('malformed', `${rpc.endpoint} has no latest block`);
  // Where finality stands still the block at that height has just been asked for by its number.
  const isWatermark = finalized !== null && finalized.number === watermark?.number;
  const reread = isWatermark ? atWatermark : finalized && (await readBlock(rpc, finalized.number));
  return { chainId, latest, finalized, reread, atWatermark };
}
