import type { Clock } from './clock.ts';

export interface Passes<T> {
  /** The result of a pass that began after this call: one that runs already may have looked too early. */
  fresh(): Promise<T>;
  /** Resolves when nothing runs and nothing waits; never rejects. */
  ended(): Promise<void>;
}

/** Spaces passes that are asked for all the time, so that other work has room: calls during a pause share the pass after it. */
export interface Pace {
  clock: Clock;
  /** From the beginning of one pass to that of the next, on average. */
  everyMs: number;
  /** So many may go without a pause. They are made up for when nothing is asked. */
  atOnce: number;
  /** Where a pass makes much other work at times: then each waits for so long after the last, and none goes without a pause. */
  atTimes?: { everyMs: number; now(): boolean };
}

/** One pass at a time, and at most one that waits: calls meanwhile share the one that waits. Many callers cost two passes. */
export function createPasses<T>(pass: () => Promise<T>, pace: Pace | null = null): Passes<T> {
  const pauseMs = pace === null ? () => 0 : createPauses(pace);
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const launch = (): Promise<T> => {
    const launched = pass().finally(() => {
      if (running === launched) running = null;
    });
    running = launched;
    return launched;
  };
  const launchAfter = async (last: Promise<T> | null, waitMs: number): Promise<T> => {
    await Promise.all([last?.catch(() => {}), waitMs > 0 ? pace?.clock.sleep(waitMs) : null]);
    next = null;
    return launch();
  };

  return {
    fresh: () => {
      if (next !== null) return next;
      const waitMs = pauseMs();
      if (running === null && waitMs === 0) return launch();
      next = launchAfter(running, waitMs);
      return next;
    },
    ended: async () => {
      await Promise.all([next?.catch(() => {}), running?.catch(() => {})]);
    },
  };
}

/** How long each pass has to wait, called once for each. */
function createPauses({ clock, atTimes, ...usually }: Pace): () => number {
  let dueMs = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.now();
    const { everyMs, atOnce } = atTimes?.now() ? { ...atTimes, atOnce: 1 } : usually;
    // A clock that was put back, or stands still, delays no pass by more than one pause.
    dueMs = Math.min(Math.max(dueMs, now), now + atOnce * everyMs);
    const waitMs = Math.max(0, dueMs - now - (atOnce - 1) * everyMs);
    dueMs += everyMs;
    return waitMs;
  };
}
