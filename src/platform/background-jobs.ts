import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Log } from './log.ts';

export interface SingleFlight<T> {
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
export function createSingleFlight<T>(pass: () => Promise<T>, pace: Pace | null = null): SingleFlight<T> {
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

/** How long a duty may lie idle after its holder has died. */
const TRY_EVERY_MS = 1_000;

export interface SingletonJob {
  /** Begins to try for it. */
  start(): void;
  /** Aborts the run, waits for its end and gives the duty back. */
  stop(): Promise<void>;
  /** False from the moment in which the session that holds it is lost. */
  isLeader(): boolean;
}

interface SingletonJobOptions {
  database: Database;
  clock: Clock;
  log: Log;
  name: string;
  /** What the holder does; to return soon after the signal is aborted. Whatever it does must be harmless when a second one does it too. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Work that one process at a time does, of all that share the database. It is held by a session's lock: nothing expires, and the
 * database itself frees it when the holder dies or its connection is cut.
 */
export function createSingletonJob({ database, clock, log, name, run }: SingletonJobOptions): SingletonJob {
  const stopping = new AbortController();
  let leadership: AbortSignal | null = null;
  let loop: Promise<void> | null = null;
  let failing = false;

  const runAsLeader = async (lost: AbortSignal): Promise<void> => {
    failing = false;
    const signal = AbortSignal.any([lost, stopping.signal]);
    // Stopped while it was asked for.
    if (signal.aborted) return;
    leadership = signal;
    log.info('job_leader_acquired', { name });
    try {
      await run(signal);
    } finally {
      leadership = null;
      if (lost.aborted) log.warn('job_leader_lost', { name });
    }
  };

  const keepTrying = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await database.withAdvisoryLock(`duty:${name}`, runAsLeader);
      } catch (error) {
        // One line for a whole outage.
        if (!failing) log.error('job_failed', { name, error });
        failing = true;
      }
      await clock.sleep(TRY_EVERY_MS, stopping.signal);
    }
  };

  return {
    start: () => {
      loop ??= keepTrying();
    },
    stop: async () => {
      stopping.abort();
      await loop;
    },
    isLeader: () => leadership !== null && !leadership.aborted,
  };
}
