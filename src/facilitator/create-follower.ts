import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Entry } from './journal/entry.ts';
import { createPace } from './pace.ts';
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

/** One poll of the head for all. Nothing is asked while nothing is waited for: tend-open.ts looks after what is in flight then. */
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
  const lookOnce = async (): Promise<void> => {
    const present = [...waiters];
    try {
      const newest = await head.refresh();
      pace.note(newest);
      await blocks.upTo(newest);
    } catch (error) {
      // The node is asked again at the next look.
      if (!(error instanceof RpcFailure)) log.warn('head_not_followed', { error });
    }
    const nextAt = clock.now() + pace.pauseMs();
    for (const waiter of present) if (waiter.deadlineAt <= nextAt) finish(waiter);
  };
  const run = async (): Promise<void> => {
    isRunning = true;
    pace.restart();
    while (waiters.size > 0) {
      await clock.sleep(pace.pauseMs());
      await lookOnce();
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
