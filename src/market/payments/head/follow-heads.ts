import { type Block, readBlock } from '../../../platform/chain/reads.ts';
import { type Rpc, RpcFailure } from '../../../platform/chain/rpc.ts';
import { createPasses, type Passes } from '../../../platform/create-passes.ts';
import type { Market } from '../../context.ts';
import type { ChainHead } from './read-head.ts';

export interface FollowedHead extends ChainHead {
  /** Counts the reorganisations that this process has noticed: between two heads with the same count no block of the first has gone. */
  rewrites: number;
}

/** Under load more requests share a reading of the heads, and the provider is asked no more often. */
const EVERY_MS = 25;
const AT_ONCE = 4;

/**
 * The heads, read for all who ask at the same time, one reading after the other. Each is compared with the one before: a block that stands has
 * all blocks below it. What cannot be compared counts as rewritten.
 */
export function followHeads(
  { clock, config }: Pick<Market, 'clock' | 'config'>,
  readHead: (askAlso: () => void) => Promise<ChainHead>,
): Passes<FollowedHead> {
  const blockMs = config.network.blockSeconds * 1_000;
  let last: { rpc: Rpc; latest: Block; readAt: number } | null = null;
  let rewrites = 0;

  const stands = async (before: NonNullable<typeof last>, early: Promise<Block | null> | null, head: ChainHead) => {
    const { hash } = before.latest;
    if (head.latest.hash === hash || head.latest.parentHash === hash) return true;
    const again = await (early ?? readOrNull(head.rpc, before.latest.number));
    return again?.hash === hash;
  };
  return createPasses(
    async () => {
      const before = last;
      // After some blocks it is neither the latest nor its parent: then it is asked for in the same request as the heads.
      const isOld = before !== null && clock.now() - before.readAt > 1.5 * blockMs;
      let early: Promise<Block | null> | null = null;
      const head = await readHead(() => {
        if (isOld) early ??= readOrNull(before.rpc, before.latest.number);
      });
      if (before !== null && !(await stands(before, early, head))) rewrites += 1;
      last = { rpc: head.rpc, latest: head.latest, readAt: clock.now() };
      return { ...head, rewrites };
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
