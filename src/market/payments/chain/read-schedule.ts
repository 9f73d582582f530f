import type { Clock } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Payment } from '../payment.ts';
import { findOpenTimes } from '../store.ts';
import type { ChainHead } from './read-head.ts';
import { findWatermark } from './store.ts';

/** A payment that is in no block yet is looked for in every round for this long, and less often afterwards. */
const NEW_MS = 60_000;
/** Share of the time until a block is final that may pass before the next look, so looks come closer together as finality nears. */
const SHARE = 0.25;
/** Blocks come unevenly, so a payment this close to finality is looked at in every round. */
const CLOSE_MS = 8_000;
/** An older reading of the heads says nothing about how far a block is from final. */
const READING_KEPT_MS = 60_000;
/** The same for another process's reading. The watermark follows every reading of the leader; its time is its last step forward. */
const WATERMARK_KEPT_MS = 600_000;
/** Below this the background job looks in every round, so a request that reads the chain itself gains only the rest of a round. */
const FAR_MS = 3_000;
/** A payment is overdue this long after its block should be final: the leader ends payments within seconds. */
const OVERDUE_MS = 30_000;

export interface ReadSchedule {
  noteHead(head: ChainHead): void;
  /** True if a round of the background job can change anything. A round that is due counts as done. Queries the database. */
  isDue(): Promise<boolean>;
  /** True if the leader should have looked at some payment by now. Queries the database. */
  isOverdue(): Promise<boolean>;
  /** True if this payment is in a block that will not be final for some seconds: meanwhile there is nothing to submit or decide. */
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
  blockSeconds: number;
  chainId: bigint;
  /** 0: every look is due. */
  longestPauseMs: number;
}

/** Decides when to read the chain: a provider bills each reading, and finality takes minutes. */
export function createReadSchedule({
  database,
  clock,
  blockSeconds,
  chainId,
  longestPauseMs,
}: ReadScheduleDependencies): ReadSchedule {
  let finalized: Final | null = null;
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** The sooner of two estimates: by the number of missing blocks and by block times. 0 while nothing is known. */
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
  /** Lets a process that reads nothing itself use what another process has just read. */
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
    // With nothing undecided, a round queries only the database.
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
      // If the clock was set back, the look is due.
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
