import { acceptHead, type HeadVerdict } from '../../../platform/chain/accept-head.ts';
import type { ProviderHealth, ProvidersHealth } from '../../../platform/chain/provider-health.ts';
import { readProviderHead } from '../../../platform/chain/read-provider-head.ts';
import type { Block } from '../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import type { Market } from '../../context.ts';
import { type ChainState, findChainState, raiseWatermark } from './store.ts';

export interface ChainHead {
  /** Who says so: whatever is decided with this head is asked of the same. */
  rpc: Rpc;
  chainId: bigint;
  latest: Block;
  /** Null while the provider's finalized head is not believed; `why` then says which check it failed. */
  finalized: FinalizedHead | null;
  /** The highest block that was ever believed to be final; null before the first, while the provider contradicts it, and while payments are halted. */
  floor: FinalizedHead | null;
  why: string | null;
}

export type HeadNeeds = Pick<Market, 'database' | 'clock' | 'log' | 'config' | 'crashPoint'>;

/**
 * The heads as the leading provider has them now: the first whose finalized head is believed. An accepted one is stored as the
 * watermark before anybody relies on it, so that no later reading, by any process, goes behind it. Throws RpcFailure while no
 * provider's head can be read. What `askAlso` asks of the provider shares its request.
 */
export async function readHead(
  market: HeadNeeds,
  providerHealth: ProvidersHealth,
  askAlso: () => void = () => {},
): Promise<ChainHead> {
  const state = await findChainState(market.database, market.config.network.chainId);
  let fallback: ChainHead | null = null;
  let failure: unknown = null;
  for (const health of providerHealth.leaders()) {
    // Skip failing providers once another one has answered.
    if (fallback !== null && health.isFailing()) continue;
    try {
      askAlso();
      const head = await readHeadOf(market, health, state);
      if (head.finalized !== null || state.halt !== null) return head;
      fallback ??= head;
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error;
      health.noteSilence();
      failure ??= error;
    }
  }
  if (fallback === null) throw failure;
  return fallback;
}

async function readHeadOf(market: HeadNeeds, health: ProviderHealth, state: ChainState): Promise<ChainHead> {
  const { database, clock, config } = market;
  const { provider: rpc } = health;
  const { watermark, resets } = state;
  const { chainId, ...reading } = await readProviderHead(rpc, watermark);
  const { latest } = reading;
  const found = { rpc, chainId, latest };
  if (chainId !== config.network.chainId) {
    noteVerdict(market, health, 'wrong_chain', true);
    return { ...found, finalized: null, floor: null, why: 'wrong_chain' };
  }
  health.noteHead(latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  noteVerdict(market, health, 'unknown' in verdict ? verdict.unknown : null, 'alarm' in verdict);
  if (state.halt !== null) return { ...found, finalized: null, floor: null, why: state.halt.reason };
  if ('unknown' in verdict) {
    // No payment may begin on a chain that does not hold what was final before.
    return { ...found, finalized: null, floor: 'alarm' in verdict ? null : watermark, why: verdict.unknown };
  }
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    const stands = await raiseWatermark(database, chainId, accepted, { resets, now: new Date(clock.now()) });
    market.crashPoint('after_watermark_raised');
    if (!stands) return { ...found, finalized: null, floor: null, why: 'watermark_reset' };
  }
  return { ...found, finalized: accepted, floor: accepted, why: null };
}

/** One line when it begins: it is read many times while it lasts. */
function noteVerdict(
  market: HeadNeeds,
  health: ProviderHealth,
  why: Extract<HeadVerdict, { unknown: string }>['unknown'] | 'wrong_chain' | null,
  isAlarm: boolean,
): void {
  if (health.noteRefusal(why) && isAlarm) {
    market.log.error('chain_head_refused', { why, endpoint: health.provider.endpoint });
  }
}
