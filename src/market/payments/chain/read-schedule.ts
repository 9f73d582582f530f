import type { Clock } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Payment } from '../payment.ts';
import { findOpenTimes } from '../store.ts';
import type { ChainHead } from './read-head.ts';
import { findWatermark } from './store.ts';

/** A payment that is in no block yet is checked in every round for this long, and less often afterwards. */
const NEW_MS = 60_000;
/** Share of the time until finality that passes before the next check, so checks get closer together as finality nears. */
const PAUSE_SHARE = 0.25;
/** Block times vary, so a payment this close to finality is checked in every round. */
const CLOSE_MS = 8_000;
/** Maximum age of a reading of the heads. An older one no longer shows how far a block is from finality. */
const READING_MAX_AGE_MS = 60_000;
/** Maximum age of the watermark, which another process may have raised. Its age counts from the last time it was raised. */
const WATERMARK_MAX_AGE_MS = 600_000;
/**
 * A request does not read the chain for a payment that is further from finality than this. If such a payment becomes final early, the
 * background job ends it within a round.
 */
const FAR_MS = 3_000;
/** A payment is overdue this long after its block should be final, because the leader process ends payments within seconds. */
const OVERDUE_MS = 30_000;

export interface ReadSchedule {
  noteHead(head: ChainHead): void;
  /** Whether a round of the background job can change anything. If true, that round counts as done. Queries the database. */
  isDue(): Promise<boolean>;
  /** Whether the leader process should have checked some payment by now. Queries the database. */
  isOverdue(): Promise<boolean>;
  /** Whether this payment is in a block that is still some seconds from final, so that there is nothing to submit or decide. */
  isFarFromFinal(payment: Payment): Promise<boolean>;
}

interface FinalReading {
  number: bigint;
  timeMs: number;
  readAt: number;
}

interface ReadScheduleDependencies {
  database: Queryable;
  clock: Clock;
  blockSeconds: number;
  chainId: bigint;
  /** If 0, a check is always due. */
  longestPauseMs: number;
}

/** Decides when to read the chain, because providers bill each reading and finality takes minutes. */
export function createReadSchedule({
  database,
  clock,
  blockSeconds,
  chainId,
  longestPauseMs,
}: ReadScheduleDependencies): ReadSchedule {
  let finalized: FinalReading | null = null;
  let checkedAt = Number.NEGATIVE_INFINITY;

  /** Returns the smaller of two estimates, by missing blocks and by block times. 0 while no finalized head is known. */
  const untilFinalMs = (blockNumber: bigint, blockTime: Date, final = finalized): number => {
    if (final === null) return 0;
    const byNumber = Number(blockNumber - final.number) * blockSeconds * 1_000;
    const byTime = blockTime.getTime() - final.timeMs;
    return Math.min(byNumber, byTime) - (clock.now() - final.readAt);
  };
  const isRecent = (final: FinalReading | null, maxAgeMs: number): boolean => {
    const age = final === null ? -1 : clock.now() - final.readAt;
    return age >= 0 && age < maxAgeMs;
  };
  /** Lets a process that reads nothing itself use another process's latest reading. */
  const readWatermark = async (): Promise<FinalReading | null> => {
    const mark = await findWatermark(database, chainId);
    return mark && { number: mark.number, timeMs: Number(mark.timestamp) * 1_000, readAt: mark.acceptedAt };
  };
  const pauseMs = async (): Promise<number> => {
    const { oldestSeen, newestUnseen, hasUndecidedTransactions } = await findOpenTimes(database);
    const pauses: number[] = [];
    if (oldestSeen !== null) {
      const remainingMs = untilFinalMs(oldestSeen.blockNumber, oldestSeen.blockTime) - CLOSE_MS;
      pauses.push(Math.min(longestPauseMs, Math.max(0, remainingMs * PAUSE_SHARE)));
    }
    if (newestUnseen !== null) pauses.push(clock.now() - newestUnseen.getTime() < NEW_MS ? 0 : longestPauseMs);
    if (hasUndecidedTransactions) pauses.push(longestPauseMs);
    // With nothing undecided, a round only queries the database.
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
      // If the clock was set back, a check is due.
      const msSinceCheck = now < checkedAt ? Number.POSITIVE_INFINITY : now - checkedAt;
      if (msSinceCheck < (await pauseMs())) return false;
      checkedAt = now;
      return true;
    },
    isOverdue: async () => {
      if (longestPauseMs === 0) return true;
      const { oldestSeen, oldestUnseen, hasUndecidedTransactions } = await findOpenTimes(database);
      if (hasUndecidedTransactions || (oldestUnseen !== null && clock.now() - oldestUnseen.getTime() > NEW_MS))
        return true;
      if (oldestSeen === null) return false;
      const mark = await readWatermark();
      return mark === null || untilFinalMs(oldestSeen.blockNumber, oldestSeen.blockTime, mark) < -OVERDUE_MS;
    },
    isFarFromFinal: async ({ blockNumber, blockTime }) => {
      if (longestPauseMs === 0 || blockNumber === null || blockTime === null) return false;
      const isFar = (final: FinalReading | null): boolean => untilFinalMs(blockNumber, blockTime, final) > FAR_MS;
      if (isRecent(finalized, READING_MAX_AGE_MS)) return isFar(finalized);
      const mark = await readWatermark();
      return isRecent(mark, WATERMARK_MAX_AGE_MS) && isFar(mark);
    },
  };
}
