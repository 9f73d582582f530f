import type { Clock } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { findOpenTimes } from '../facts/store.ts';
import type { Payment } from '../payment.ts';
import type { ChainHead } from './read-head.ts';

/** A payment that no block shows is looked for at every turn for this long, and less often afterwards. */
const NEW_MS = 60_000;
/** Of the time until a block is final, so much may go by before the next look: the looks come closer as it comes closer. */
const SHARE = 0.25;
/** Blocks come unevenly: this close to its time, a payment is looked at in every turn. */
const CLOSE_MS = 8_000;
/** A reading of the heads that is older says nothing on how far a block is from final. */
const READING_KEPT_MS = 60_000;
const FAR_MS = 60_000;

export interface WhenToLook {
  /** Heads were read. */
  noteHead(head: ChainHead): void;
  /** Whether a turn of the background pass can change anything. One that is due is taken as done. Asks the database. */
  isDue(): Promise<boolean>;
  /** Whether a block shows this payment that will not be final for another minute: nothing is to be submitted or decided meanwhile. */
  isFarFromFinal(payment: Payment): boolean;
}

interface Needs {
  database: Queryable;
  clock: Clock;
  /** Between two blocks of the network. */
  blockSeconds: number;
  /** 0: every look is due. */
  longestPauseMs: number;
}

/** When the chain has to be looked at: a provider bills each look, and finality takes minutes. */
export function createWhenToLook({ database, clock, blockSeconds, longestPauseMs }: Needs): WhenToLook {
  let finalized: { number: bigint; timeMs: number; readAt: number } | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** By the blocks that are missing and by the times of the blocks, whichever is sooner. 0 while nothing is known. */
  const untilFinalMs = (blockNumber: bigint, blockTime: Date): number => {
    if (finalized === null) return 0;
    const byNumber = Number(blockNumber - finalized.number) * blockSeconds * 1_000;
    const byTime = blockTime.getTime() - finalized.timeMs;
    return Math.min(byNumber, byTime) - (clock.now() - finalized.readAt);
  };
  const pauseMs = async (): Promise<number> => {
    const { oldestSeen, newestUnseen, hasUndecided } = await findOpenTimes(database);
    const pauses: number[] = [];
    if (oldestSeen !== null) {
      const left = untilFinalMs(oldestSeen.blockNumber, oldestSeen.blockTime) - CLOSE_MS;
      pauses.push(Math.min(longestPauseMs, Math.max(0, left * SHARE)));
    }
    if (newestUnseen !== null) pauses.push(clock.now() - newestUnseen.getTime() < NEW_MS ? 0 : longestPauseMs);
    if (hasUndecided) pauses.push(longestPauseMs);
    // With nothing undecided a pass asks the database alone.
    return pauses.length === 0 ? 0 : Math.min(...pauses);
  };
  return {
    noteHead: (head) => {
      if (head.finalized === null) return;
      const { number, timestamp } = head.finalized;
      finalized = { number, timeMs: Number(timestamp) * 1_000, readAt: clock.now() };
    },
    isDue: async () => {
      const now = clock.now();
      // A clock that was put back keeps nothing waiting.
      const since = now < lookedAt ? Number.POSITIVE_INFINITY : now - lookedAt;
      if (since < (await pauseMs())) return false;
      lookedAt = now;
      return true;
    },
    isFarFromFinal: ({ blockNumber, blockTime }) => {
      if (longestPauseMs === 0 || blockNumber === null || blockTime === null || finalized === null) return false;
      const age = clock.now() - finalized.readAt;
      return age >= 0 && age < READING_KEPT_MS && untilFinalMs(blockNumber, blockTime) > FAR_MS;
    },
  };
}
