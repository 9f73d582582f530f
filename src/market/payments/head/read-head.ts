import { type Block, readBlock } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Market } from '../../context.ts';
import type { FinalizedHead } from '../decide.ts';
import { acceptHead, type HeadVerdict } from './accept-head.ts';
import { findWatermark, raiseWatermark } from './store.ts';

export interface ChainHead {
  latest: Block;
  /** Null while the provider's finalized head is not believed; `why` then says which check it failed. */
  finalized: FinalizedHead | null;
  /** The highest block that was ever believed to be final; null before the first, and while the provider contradicts it. */
  floor: FinalizedHead | null;
  why: string | null;
}

type Needs = Pick<Market, 'rpc' | 'database' | 'clock' | 'log' | 'config'>;

/**
 * The heads as the provider has them now. An accepted finalized head is stored as the watermark before anybody relies on it, so
 * that no later reading, by any process, goes behind it. Throws RpcFailure while the chain cannot be read.
 */
export async function readHead(market: Needs): Promise<ChainHead> {
  const { rpc, database, clock, config } = market;
  const chainId = config.network.chainId;
  const watermark = await findWatermark(database, chainId);
  const finalized = await readBlock(rpc, 'finalized');
  const [latest, reread, atWatermark] = await Promise.all([
    readBlock(rpc, 'latest'),
    finalized && readBlock(rpc, finalized.number),
    watermark && readBlock(rpc, watermark.number),
  ]);
  if (latest === null) throw new RpcFailure('malformed', `${rpc.endpoint} has no latest block`);
  const verdict = acceptHead(
    { latest, finalized, reread, atWatermark },
    watermark,
    clock.now(),
    config.finalityMinAgeSeconds,
  );
  // Nobody is to begin a payment on a chain that does not hold what was final before.
  if ('alarm' in verdict) return { ...refuse(market, latest, verdict), floor: null };
  if (!('accepted' in verdict)) return { ...refuse(market, latest, verdict), floor: watermark };
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    await raiseWatermark(database, chainId, accepted, new Date(clock.now()));
  }
  return { latest, finalized: accepted, floor: accepted, why: null };
}

function refuse(
  market: Needs,
  latest: Block,
  verdict: Extract<HeadVerdict, { unknown: string }>,
): Omit<ChainHead, 'floor'> {
  if ('alarm' in verdict)
    market.log.error('chain_head_refused', { why: verdict.unknown, endpoint: market.rpc.endpoint });
  return { latest, finalized: null, why: verdict.unknown };
}
