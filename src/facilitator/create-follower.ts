import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Head } from './head.ts';
import type { Entry } from './journal/entry.ts';
import { createScanBlocks } from './scan-blocks.ts';

/** Follows the head of the chain for all settlements at once, while requests wait for one of them. */
export interface Follower {
  /** It is about to be broadcast: blocks up to the newest known one cannot have it. */
  expect(entry: Readonly<Entry>): void;
  /** Resolves when the entry has an end, or by then, but not before one look. */
  ended(entry: Readonly<Entry>, deadlineAt: number): Promise<void>;
}

interface Waiter {
  entry: Readonly<Entry>;
  deadlineAt: number;
  done(): void;
}

/** One poll of the head for all. Nothing is asked while nothing is waited for: monitor-pending.ts looks after what is in flight then. */
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
      pace.note(newest);
      await blocks.upTo(newest);
    } catch (error) {
      // The node is asked again at the next look.
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

/** When to look for the next block: a look too early costs a call, one too late costs the payer time. */
interface Pace {
  /** What a look found. */
  note(head: Head): void;
  /** How long to wait before the next look. */
  pauseMs(): number;
  /** A request waits again, after none did. */
  restart(): void;
}

const FIRST_PAUSE_MS = 10;
/** Looks for a block that is late come so often. */
const LATE_PAUSE_MS = 20;
/** So many equal distances in a row are a chain with a beat of its own. */
const EQUAL_SPACINGS = 3;
const MOST_SPACING_SECONDS = 2n;
/** After a block that was there already it is looked for a little earlier. */
const EARLIER_MS = 10;
/** A sleep towards the next block is never longer than this many polls: the beat may have been chance. */
const MOST_POLLS = 10;

/**
 * Where blocks come at even times, as on Base, the next look is when the next block is due. Elsewhere looks become rarer from
 * `FIRST_PAUSE_MS` to `pollMs`, from each new block on: a chain that mines at once has a transaction almost at once.
 */
export function createPace(pollMs: number, now: () => number): Pace {
  let last: Head | null = null;
  let spacing = 0n;
  let equal = 0;
  /** How long after the time in its head a block is to be seen. */
  let lagMs = 0;
  let looksForNext = 0;

  const dueInMs = (): number | null => {
    if (last === null || equal < EQUAL_SPACINGS) return null;
    const spacingMs = Number(spacing) * 1000;
    const sinceLast = now() - Number(last.timestamp) * 1000 - lagMs;
    // Far from the wall clock, or a block was left out: there is no beat to go by.
    if (sinceLast < -spacingMs) return null;
    return spacingMs - (Math.max(0, sinceLast) % spacingMs);
  };
  return {
    note: (head) => {
      looksForNext += 1;
      if (last?.hash === head.hash) return;
      if (last !== null && head.number === last.number + 1n) {
        const next = head.timestamp - last.timestamp;
        equal = next > 0n && next <= MOST_SPACING_SECONDS && next === spacing ? equal + 1 : 0;
        spacing = next;
      } else if (last !== null && head.timestamp - last.timestamp !== (head.number - last.number) * spacing) {
        equal = 0;
      }
      const seenLagMs = now() - Number(head.timestamp) * 1000;
      const wasThere = last !== null && looksForNext === 1;
      lagMs = wasThere ? Math.min(lagMs, seenLagMs) - EARLIER_MS : seenLagMs;
      last = head;
      looksForNext = 0;
    },
    pauseMs: () => {
      const due = looksForNext === 0 ? dueInMs() : null;
      if (due !== null) return Math.min(due, MOST_POLLS * pollMs);
      const first = equal >= EQUAL_SPACINGS ? LATE_PAUSE_MS : FIRST_PAUSE_MS;
      return Math.min(first * 2 ** Math.min(looksForNext, 10), pollMs);
    },
    restart: () => {
      looksForNext = 0;
    },
  };
}
