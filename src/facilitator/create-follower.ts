import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Head } from './head.ts';
import type { Entry } from './journal/entry.ts';
import { createScanBlocks } from './scan-blocks.ts';

export interface Follower {
  /** Call before the broadcast: blocks up to the newest known one cannot contain the transaction. */
  expect(entry: Readonly<Entry>): void;
  /**
   * Resolves at once if the entry has ended. Otherwise polls at least once, and resolves when the entry ends or the deadline comes before
   * the next poll.
   */
  ended(entry: Readonly<Entry>, deadlineAt: number): Promise<void>;
}

interface Waiter {
  entry: Readonly<Entry>;
  deadlineAt: number;
  done(): void;
}

/** Polls the head once for all waiting settlements. Stops polling while none waits; monitor-pending.ts then checks those in flight. */
export function createFollower(context: Context, conclude: Conclude): Follower {
  const { clock, head, log, timing } = context;
  const waiters = new Set<Waiter>();
  const pace = createPace(timing.receiptPollMs, clock.now);
  const blocks = createScanBlocks(context, conclude);
  let isRunning = false;

  const finish = (waiter: Waiter): void => {
    waiters.delete(waiter);
    waiter.done();
  };
  conclude.onEnd((entry) => {
    for (const waiter of waiters) if (waiter.entry === entry) finish(waiter);
  });
  const pollOnce = async (): Promise<void> => {
    const present = [...waiters];
    try {
      const newest = await head.refresh();
      pace.observe(newest);
      await blocks.upTo(newest);
    } catch (error) {
      if (!(error instanceof RpcFailure)) log.warn('head_poll_failed', { error });
    }
    const nextAt = clock.now() + pace.pauseMs();
    for (const waiter of present) if (waiter.deadlineAt <= nextAt) finish(waiter);
  };
  const run = async (): Promise<void> => {
    isRunning = true;
    pace.restart();
    while (waiters.size > 0) {
      await clock.sleep(pace.pauseMs());
      await pollOnce();
    }
    isRunning = false;
  };
  return {
    expect: blocks.expect,
    ended: (entry, deadlineAt) =>
      new Promise((done) => {
        if (entry.ending !== null) return done();
        waiters.add({ entry, deadlineAt, done });
        if (!isRunning) void run();
      }),
  };
}

/** Chooses when to poll for the next block. Polling early costs a call; polling late costs the payer time. */
interface Pace {
  observe(head: Head): void;
  pauseMs(): number;
  /** Call when a settlement begins to wait and no other was waiting. */
  restart(): void;
}

const FIRST_PAUSE_MS = 10;
/** Half of the first pause between polls for a block that is late. The pause doubles with each poll. */
const LATE_PAUSE_MS = 20;
/** After this many equal intervals, assume a fixed block time. */
const EQUAL_SPACINGS = 3;
const MAX_SPACING_SECONDS = 2n;
/** If the first poll already finds the block, poll this much earlier next time. */
const POLL_EARLIER_MS = 10;
/** Sleep for at most this many poll intervals, because the fixed block time may be a coincidence. */
const MAX_POLLS = 10;

/**
 * Schedules polls. On a chain with a fixed block time, such as Base, polls when the next block is due. On others, the pause grows from
 * `FIRST_PAUSE_MS` to `pollMs` after each new block, because a chain that mines instantly has the transaction almost at once.
 */
export function createPace(pollMs: number, now: () => number): Pace {
  let last: Head | null = null;
  let spacing = 0n;
  let equalSpacings = 0;
  /** Time from a block's timestamp until the block can be read. */
  let lagMs = 0;
  let pollsForNext = 0;

  const dueInMs = (): number | null => {
    if (last === null || equalSpacings < EQUAL_SPACINGS) return null;
    const spacingMs = Number(spacing) * 1000;
    const sinceLast = now() - Number(last.timestamp) * 1000 - lagMs;
    // The clock was set back, so do not predict.
    if (sinceLast < -spacingMs) return null;
    return spacingMs - (Math.max(0, sinceLast) % spacingMs);
  };
  return {
    observe: (head) => {
      pollsForNext += 1;
      if (last?.hash === head.hash) return;
      if (last !== null && head.number === last.number + 1n) {
        const next = head.timestamp - last.timestamp;
        equalSpacings = next > 0n && next <= MAX_SPACING_SECONDS && next === spacing ? equalSpacings + 1 : 0;
        spacing = next;
      } else if (last !== null && head.timestamp - last.timestamp !== (head.number - last.number) * spacing) {
        equalSpacings = 0;
      }
      const seenLagMs = now() - Number(head.timestamp) * 1000;
      const wasThere = last !== null && pollsForNext === 1;
      lagMs = wasThere ? Math.min(lagMs, seenLagMs) - POLL_EARLIER_MS : seenLagMs;
      last = head;
      pollsForNext = 0;
    },
    pauseMs: () => {
      const dueMs = pollsForNext === 0 ? dueInMs() : null;
      if (dueMs !== null) return Math.min(dueMs, MAX_POLLS * pollMs);
      const first = equalSpacings >= EQUAL_SPACINGS ? LATE_PAUSE_MS : FIRST_PAUSE_MS;
      return Math.min(first * 2 ** Math.min(pollsForNext, 10), pollMs);
    },
    restart: () => {
      pollsForNext = 0;
    },
  };
}
