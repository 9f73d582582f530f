import {
  acceptHead,
  noteVerdict,
  readLeadingHead,
  readProviderHead,
  type Watermark,
} from '../../platform/chain/accept-head.ts';
import type { Provider, ProviderHealth } from '../../platform/chain/providers.ts';
import type { Block } from '../../platform/chain/reads.ts';
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
  const read = (health: ProviderHealth): Promise<ChainHead> => readHeadOf(city, health, watermark);
  return await readLeadingHead(city.providerHealth, read, ({ finalized }) => finalized !== null);
}

async function readHeadOf(city: HeadContext, health: ProviderHealth, watermark: Watermark | null): Promise<ChainHead> {
  const { database, clock, config, log } = city;
  const { provider } = health;
  const { chainId, ...reading } = await readProviderHead(provider, watermark);
  const found = { provider, chainId, latest: reading.latest };
  if (chainId !== config.network.chainId) {
    noteVerdict(log, health, 'wrong_chain', true);
    return { ...found, finalized: null, floor: null };
  }
  health.noteHead(reading.latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  noteVerdict(log, health, 'unknown' in verdict ? verdict.unknown : null, 'alarm' in verdict);
  if ('unknown' in verdict) return { ...found, finalized: null, floor: 'alarm' in verdict ? null : watermark };
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    await raiseWatermark(database, chainId, accepted, new Date(clock.now()));
  }
  return { ...found, finalized: accepted, floor: accepted };
}
