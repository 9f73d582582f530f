import type { Clock } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Log } from './log.ts';

/** How long a duty may lie idle after its holder has died. */
const TRY_EVERY_MS = 1_000;

export interface SingletonJob {
  /** Begins to try for it. */
  start(): void;
  /** Aborts the run, waits for its end and gives the duty back. */
  stop(): Promise<void>;
  /** False from the moment in which the session that holds it is lost. */
  isHeld(): boolean;
}

export interface DutyOptions {
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
export function createSingletonJob({ database, clock, log, name, run }: DutyOptions): SingletonJob {
  const stopping = new AbortController();
  let holding: AbortSignal | null = null;
  let loop: Promise<void> | null = null;
  let failing = false;

  const hold = async (lost: AbortSignal): Promise<void> => {
    failing = false;
    const signal = AbortSignal.any([lost, stopping.signal]);
    // Stopped while it was asked for.
    if (signal.aborted) return;
    holding = signal;
    log.info('duty_taken', { name });
    try {
      await run(signal);
    } finally {
      holding = null;
      if (lost.aborted) log.warn('duty_lost', { name });
    }
  };

  const keepTrying = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await database.withAdvisoryLock(`duty:${name}`, hold);
      } catch (error) {
        // One line for a whole outage.
        if (!failing) log.error('duty_failed', { name, error });
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
    isHeld: () => holding !== null && !holding.aborted,
  };
}
