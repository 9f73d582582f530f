import { createSingleFlight, type SingleFlight } from '../../../platform/background-jobs.ts';
import { acceptHead, noteVerdict, readLeadingHead, readProviderHead } from '../../../platform/chain/accept-head.ts';
import type { ProviderHealth, ProvidersHealth } from '../../../platform/chain/providers.ts';
import { type Block, readBlock } from '../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../platform/chain/rpc.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';
import type { Market } from '../../context.ts';
import { type ChainState, findChainState, raiseWatermark } from './store.ts';

export interface ChainHead {
  /** The provider that reported this head. Everything decided with this head is read from the same provider. */
  rpc: Rpc;
  chainId: bigint;
  latest: Block;
  /** Null while the provider's finalized head is not accepted; `why` then names the failed check. */
  finalized: FinalizedHead | null;
  /**
   * Highest block ever accepted as final. Null before the first, on a wrong chain, while the provider contradicts that block, while
   * payments are halted, and if an operator has just reset the watermark.
   */
  floor: FinalizedHead | null;
  why: string | null;
}

export type HeadMarket = Pick<Market, 'database' | 'clock' | 'log' | 'config' | 'crashPoint'>;

/**
 * Reads the heads from the leading provider, which is the first one whose finalized head is accepted or, if there is none, the first that
 * answers. Stores an accepted head as the watermark before anyone relies on it, so that no later reading, by any process, goes below it.
 * Throws RpcFailure if no provider's head can be read. Calls made in `askAlso` share the request to the provider.
 */
export async function readHead(
  market: HeadMarket,
  providerHealth: ProvidersHealth,
  askAlso: () => void = () => {},
): Promise<ChainHead> {
  const state = await findChainState(market.database, market.config.network.chainId);
  const readFrom = (health: ProviderHealth): Promise<ChainHead> => {
    askAlso();
    return readHeadOf(market, health, state);
  };
  return await readLeadingHead(providerHealth, readFrom, ({ finalized }) => finalized !== null || state.halt !== null);
}

async function readHeadOf(market: HeadMarket, health: ProviderHealth, state: ChainState): Promise<ChainHead> {
  const { database, clock, config, log } = market;
  const { provider: rpc } = health;
  const { watermark, resets } = state;
  const { chainId, ...reading } = await readProviderHead(rpc, watermark);
  const { latest } = reading;
  const base = { rpc, chainId, latest };
  if (chainId !== config.network.chainId) {
    noteVerdict(log, health, 'wrong_chain', true);
    return { ...base, finalized: null, floor: null, why: 'wrong_chain' };
  }
  health.noteHead(latest);
  const verdict = acceptHead(reading, watermark, clock.now(), config.finalityMinAgeSeconds);
  noteVerdict(log, health, 'unknown' in verdict ? verdict.unknown : null, 'alarm' in verdict);
  if (state.halt !== null) return { ...base, finalized: null, floor: null, why: state.halt.reason };
  if ('unknown' in verdict) {
    // No payment may begin on a chain that has dropped a finalized block.
    return { ...base, finalized: null, floor: 'alarm' in verdict ? null : watermark, why: verdict.unknown };
  }
  const { accepted } = verdict;
  if (watermark === null || accepted.number > watermark.number) {
    const isRaised = await raiseWatermark(database, chainId, accepted, { resets, now: new Date(clock.now()) });
    market.crashPoint('after_watermark_raised');
    if (!isRaised) return { ...base, finalized: null, floor: null, why: 'watermark_reset' };
  }
  return { ...base, finalized: accepted, floor: accepted, why: null };
}

export interface FollowedHead extends ChainHead {
  /** Number of reorganisations that this process has noticed. If two heads have the same count, no block of the first was replaced. */
  reorgCount: number;
}

/** Limits how often the provider is asked: under load, more requests share one reading. */
const EVERY_MS = 25;
const AT_ONCE = 4;

/**
 * Shares each reading of the heads among concurrent callers, and compares it with the previous one. While the previous latest block is
 * canonical, so are all blocks below it. A head that cannot be compared counts as a reorganisation.
 */
export function followHeads(
  { clock, config }: Pick<Market, 'clock' | 'config'>,
  readHead: (askAlso: () => void) => Promise<ChainHead>,
): SingleFlight<FollowedHead> {
  const blockMs = config.network.blockSeconds * 1_000;
  let last: { rpc: Rpc; latest: Block; readAt: number } | null = null;
  let reorgCount = 0;

  const isCanonical = async (
    before: NonNullable<typeof last>,
    earlyRead: Promise<Block | null> | null,
    head: ChainHead,
  ) => {
    const { hash } = before.latest;
    if (head.latest.hash === hash || head.latest.parentHash === hash) return true;
    const reread = await (earlyRead ?? readOrNull(head.rpc, before.latest.number));
    return reread?.hash === hash;
  };
  return createSingleFlight(
    async () => {
      const before = last;
      // After a few blocks the previous head is neither the latest block nor its parent, so request it together with the heads.
      const isOld = before !== null && clock.now() - before.readAt > 1.5 * blockMs;
      let earlyRead: Promise<Block | null> | null = null;
      const head = await readHead(() => {
        if (isOld) earlyRead ??= readOrNull(before.rpc, before.latest.number);
      });
      if (before !== null && !(await isCanonical(before, earlyRead, head))) reorgCount += 1;
      last = { rpc: head.rpc, latest: head.latest, readAt: clock.now() };
      return { ...head, reorgCount };
    },
    { clock, everyMs: EVERY_MS, atOnce: AT_ONCE },
  );
}

async function readOrNull(rpc: Rpc, number: bigint): Promise<Block | null> {
  try {
    return await readBlock(rpc, number);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}
