import type { ProvidersHealth } from '../../../platform/chain/provider-health.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { createPasses } from '../../../platform/create-passes.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from '../head/read-head.ts';
import { type ChainState, findChainState } from '../head/store.ts';
import { lookForConflict } from './look-for-conflict.ts';
import { probeContractWallets, type WalletService } from './probe-contract-wallets.ts';

/** What all providers said when they were last looked at together. */
export interface ChainWatch {
  /** Looks now, after this call. Never rejects. */
  look(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
  /** The leading provider's heads at the last look; null before the first, and while none can be read. */
  head(): ChainHead | null;
  /** What was in the database at the last look; null before the first. */
  state(): ChainState | null;
  /** Whether the primary answers calls on contract wallets as of the finalized block (W8). */
  contractWallets(): WalletService;
}

interface WatchOptions {
  readHead(): Promise<ChainHead>;
  /** What was last read for whatever purpose; null before the first. */
  lastRead(): { head: ChainHead; at: number } | null;
  everyMs: number;
  /** Whether this process is the one that looks after the payments of all. */
  isLeader(): boolean;
}

/**
 * Looks at every provider once in a while: who is silent or stands still loses its say, and two that call different blocks final halt the
 * payments everywhere. Each process does, as each has its own view of who serves; of a single provider only one process needs to know.
 * Deciding on payments does not wait for this.
 */
export function createWatch(
  market: Market,
  providerHealth: ProvidersHealth,
  { readHead, lastRead, everyMs, isLeader }: WatchOptions,
): ChainWatch {
  const { database, clock, config, log } = market;
  const stopping = new AbortController();
  let looping: Promise<void> | null = null;
  let state: ChainState | null = null;
  let head: ChainHead | null = null;
  let wallets: WalletService = 'unknown';

  const readState = async (isLooking: boolean): Promise<void> => {
    try {
      if (isLooking && providerHealth.all.length > 1) await lookForConflict(market, providerHealth);
      // The watermark follows the chain, also while nothing is paid.
      if (isLooking) head = await readOrNull(readHead);
      const now = await findChainState(database, config.network.chainId);
      tellChanges(log, state, now);
      state = now;
      if (isLooking && wallets === 'unknown') wallets = await probeContractWallets(market);
    } catch (error) {
      log.error('chain_watch_failed', { error });
    }
  };
  const passes = createPasses(() => readState(true));

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(everyMs, stopping.signal);
      if (stopping.signal.aborted) return;
      const read = lastRead();
      const isRead = read !== null && clock.now() - read.at < everyMs;
      if (providerHealth.all.length > 1 || (isLeader() && !isRead)) await passes.fresh();
      else {
        if (isRead) head = read.head;
        await readState(false);
      }
    }
  }

  return {
    look: () => passes.fresh(),
    start: () => {
      looping ??= loop();
    },
    stop: async () => {
      stopping.abort();
      await Promise.all([looping, passes.ended()]);
    },
    head: () => head,
    state: () => state,
    contractWallets: () => wallets,
  };
}

async function readOrNull(readHead: () => Promise<ChainHead>): Promise<ChainHead | null> {
  try {
    return await readHead();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return null;
  }
}

/** Every process says when it has seen what another one, or an operator, did. */
function tellChanges(log: Market['log'], before: ChainState | null, now: ChainState): void {
  if (now.halt !== null && now.halt.id !== before?.halt?.id) {
    log.error('payments_halted', { reason: now.halt.reason, detail: now.halt.detail });
  }
  if (now.halt === null && before !== null && before.halt !== null) log.warn('payments_resumed');
  if (before !== null && now.resets !== before.resets) {
    log.warn('watermark_reset', { block_number: now.watermark?.number });
  }
}
