import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Log } from './log.ts';

export interface SingleFlight<T> {
  /** Returns the result of a run that starts after this call. A run that is already active may have read older data. */
  fresh(): Promise<T>;
  /** Resolves when no run is active or queued; never rejects. */
  ended(): Promise<void>;
}

/** Limits how often a run may start, so that other work gets time. Calls during a pause share the next run. */
export interface Pace {
  clock: Clock;
  /** Minimum average time from the start of one run to the start of the next. */
  everyMs: number;
  /** Burst size: this many runs may start without a pause. Idle time restores it. */
  atOnce: number;
  /** While `now()` is true, this `everyMs` applies without bursts, because each run then causes much other work. */
  atTimes?: { everyMs: number; now(): boolean };
}

/** Joins concurrent calls. At most one run is active and one queued; all calls made during a run share the queued one. */
export function createSingleFlight<T>(run: () => Promise<T>, pace: Pace | null = null): SingleFlight<T> {
  const pauseMs = pace === null ? () => 0 : createPauses(pace);
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  const launch = (): Promise<T> => {
    const launched = run().finally(() => {
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

/** Returns a function that gives the delay of the next run. Call the function once for each run. */
function createPauses({ clock, atTimes, ...usually }: Pace): () => number {
  let dueMs = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.now();
    const { everyMs, atOnce } = atTimes?.now() ? { ...atTimes, atOnce: 1 } : usually;
    // Even if the clock is set back or stops, no run waits longer than one pause.
    dueMs = Math.min(Math.max(dueMs, now), now + atOnce * everyMs);
    const waitMs = Math.max(0, dueMs - now - (atOnce - 1) * everyMs);
    dueMs += everyMs;
    return waitMs;
  };
}

/** Longest time until another process notices that the leader has died. */
const TRY_EVERY_MS = 1_000;

export interface SingletonJob {
  start(): void;
  /** Aborts the run, waits for it to end and releases the lock. */
  stop(): Promise<void>;
  /** Turns false as soon as the session that holds the lock is lost. */
  isLeader(): boolean;
}

interface SingletonJobOptions {
  database: Database;
  clock: Clock;
  log: Log;
  name: string;
  /** The leader's work. Must return soon after the signal is aborted, and be safe if two processes run it at once. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Runs a job in only one of the processes that share the database. The leader holds a session lock, which never expires: PostgreSQL
 * releases it when the leader dies or loses its connection.
 */
export function createSingletonJob({ database, clock, log, name, run }: SingletonJobOptions): SingletonJob {
  const stopping = new AbortController();
  let leadership: AbortSignal | null = null;
  let loop: Promise<void> | null = null;
  let isFailing = false;

  const runAsLeader = async (lost: AbortSignal): Promise<void> => {
    isFailing = false;
    const signal = AbortSignal.any([lost, stopping.signal]);
    // `stop` was called, or the session was lost, while the lock was being taken.
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
        // Log once per outage.
        if (!isFailing) log.error('job_failed', { name, error });
        isFailing = true;
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

interface RepeatedTask {
  name: string;
  act(): Promise<unknown>;
  everyMs: number;
}

/** Repeats a task until the signal is aborted. Logs a failure and tries again in the next round. */
export async function repeatTask(
  { clock, log }: { clock: Clock; log: Log },
  { name, act, everyMs }: RepeatedTask,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await act();
    } catch (error) {
      log.error('background_failed', { name, error });
    }
    await clock.sleep(everyMs, signal);
  }
}
