import { acceptHead, readProviderHead, type Watermark } from '../../platform/chain/accept-head.ts';
import type { Provider, ProviderHealth } from '../../platform/chain/providers.ts';
import type { Block } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../platform/chain/sighting.ts';
import type { City } from '../context.ts';
import { findWatermark, raiseWatermark } from './store.ts';

export interface ChainHead {
  /** Who says so: whatever is decided with this head is asked of the same. */
  provider: Provider;
  chainId: bigint;
  latest: Block;
  /** Null while the provider's finalized head is not believed. */
  finalized: FinalizedHead | null;
  /**
   * The highest block that was ever believed to be final. Null before the first, on another chain, and while the provider contradicts it:
   * then nothing is begun or given up on its word.
   */
  floor: FinalizedHead | null;
}

export type HeadContext = Pick<City, 'database' | 'clock' | 'log' | 'config' | 'providerHealth'>;

/**
 * The heads as the leading provider has them now: the first whose finalized head is believed. An accepted one is the watermark before
 * anybody relies on it. Throws RpcFailure while no provider's head can be read.
 */
export async function readHead(city: HeadContext): Promise<ChainHead> {
  const watermark = await findWatermark(city.database, city.config.network.chainId);
  let fallback: ChainHead | null = null;
  let failure: unknown = null;
  for (const health of city.providerHealth.leaders()) {
    // Skip failing providers once one has answered.
    if (fallback !== null && health.isFailing()) continue;
    try {
      const head = await readHeadOf(city, health, watermark);
      if (head.finalized !== null) return head;
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

async function readHeadOf(city: HeadContext, health: ProviderHealth, watermark: Watermark | null): Promise<ChainHead> {
  const { database, clock, config, log } = city;
  const { provider } = health;
  const { chainId, ...reading } = await readProviderHead(provider, watermark);
  const found = { provider, chainId, latest: reading.latest };
  /** One line when it begins: it is read many times while it lasts. */
  const note = (why: string | null, isAlarm: boolean): void => {
    if (health.noteRefusal(why) && isAlarm) log.error('chain_head_refused', { why, endpoint: provider.endpoint });
  };
  if (chainId !== config.network.chainId) {
    note('wrong_chain', true);
    return { ...found, finalized: null, floor: null };
  }
  health.noteHead(reading.latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  if ('unknown' in verdict) {
    const isAlarm = 'alarm' in verdict;
    note(verdict.unknown, isAlarm);
    return { ...found, finalized: null, floor: isAlarm ? null : watermark };
  }
  note(null, false);
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    await raiseWatermark(database, chainId, accepted, new Date(clock.now()));
  }
  return { ...found, finalized: accepted, floor: accepted };
}
