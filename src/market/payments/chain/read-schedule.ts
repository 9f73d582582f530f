import type { Clock } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Payment } from '../payment.ts';
import { findOpenTimes } from '../store.ts';
import type { ChainHead } from './read-head.ts';
import { findWatermark } from './store.ts';

/** A payment that no block shows is looked for at every turn for this long, and less often afterwards. */
const NEW_MS = 60_000;
/** Of the time until a block is final, so much may go by before the next look: the looks come closer as it comes closer. */
const SHARE = 0.25;
/** Blocks come unevenly: this close to its time, a payment is looked at in every turn. */
const CLOSE_MS = 8_000;
/** A reading of the heads that is older says nothing on how far a block is from final. */
const READING_KEPT_MS = 60_000;
/** Of another process: the watermark follows every reading of the leader, and its time is that of its last step forward. */
const WATERMARK_KEPT_MS = 600_000;
/** The background pass looks in every turn by then: a request that reads the chain itself only gains the rest of a turn. */
const FAR_MS = 3_000;
/** The leader ends a payment within seconds. */
const OVERDUE_MS = 30_000;

export interface ReadSchedule {
  /** Heads were read. */
  noteHead(head: ChainHead): void;
  /** Whether a turn of the background pass can change anything. One that is due is taken as done. Asks the database. */
  isDue(): Promise<boolean>;
  /** Whether some payment should have been looked at by now by the leader. Asks the database. */
  isOverdue(): Promise<boolean>;
  /** Whether a block shows this payment that will not be final for some seconds: nothing is to be submitted or decided meanwhile. */
  isFarFromFinal(payment: Payment): Promise<boolean>;
}

interface Final {
  number: bigint;
  timeMs: number;
  readAt: number;
}

interface ReadScheduleDependencies {
  database: Queryable;
  clock: Clock;
  /** Between two blocks of the network. */
  blockSeconds: number;
  chainId: bigint;
  /** 0: every look is due. */
  longestPauseMs: number;
}

/** When the chain has to be looked at: a provider bills each look, and finality takes minutes. */
export function createReadSchedule({
  database,
  clock,
  blockSeconds,
  chainId,
  longestPauseMs,
}: ReadScheduleDependencies): ReadSchedule {
  let finalized: Final | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** By the blocks that are missing and by the times of the blocks, whichever is sooner. 0 while nothing is known. */
  const untilFinalMs = (blockNumber: bigint, blockTime: Date, final = finalized): number => {
    if (final === null) return 0;
    const byNumber = Number(blockNumber - final.number) * blockSeconds * 1_000;
    const byTime = blockTime.getTime() - final.timeMs;
    return Math.min(byNumber, byTime) - (clock.now() - final.readAt);
  };
  const isKept = (final: Final | null, keptMs: number): boolean => {
    const age = final === null ? -1 : clock.now() - final.readAt;
    return age >= 0 && age < keptMs;
  };
  /** A process that looks at nothing itself need not ask the chain for what another has just read. */
  const readWatermark = async (): Promise<Final | null> => {
    const mark = await findWatermark(database, chainId);
    return mark && { number: mark.number, timeMs: Number(mark.timestamp) * 1_000, readAt: mark.acceptedAt };
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
    isOverdue: async () => {
      if (longestPauseMs === 0) return true;
      const { oldestSeen, oldestUnseen, hasUndecided } = await findOpenTimes(database);
      if (hasUndecided || (oldestUnseen !== null && clock.now() - oldestUnseen.getTime() > NEW_MS)) return true;
      if (oldestSeen === null) return false;
      const mark = await readWatermark();
      return mark === null || untilFinalMs(oldestSeen.blockNumber, oldestSeen.blockTime, mark) < -OVERDUE_MS;
    },
    isFarFromFinal: async ({ blockNumber, blockTime }) => {
      if (longestPauseMs === 0 || blockNumber === null || blockTime === null) return false;
      const isFar = (final: Final | null): boolean => untilFinalMs(blockNumber, blockTime, final) > FAR_MS;
      if (isKept(finalized, READING_KEPT_MS)) return isFar(finalized);
      const mark = await readWatermark();
      return isKept(mark, WATERMARK_KEPT_MS) && isFar(mark);
    },
  };
}
