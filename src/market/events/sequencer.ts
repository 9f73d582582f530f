import { createSingleFlight, createSingletonJob } from '../../platform/background-jobs.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { isUnavailable } from '../../platform/database/database-error.ts';
import type { Log } from '../../platform/log.ts';
import { hasUnnumbered, numberBatch, oldestUnnumberedMs } from './store.ts';

const BATCH = 500;
/** Poll interval, for rows that other processes committed or a failed run left. */
const POLL_MS = 100;
/**
 * Minimum average interval between runs. A few runs may start at once, so a single event is numbered without delay. At higher rates, several
 * commits share a run.
 */
const RUN_EVERY_MS = 20;
const RUNS_AT_ONCE = 4;
const ALARM_MS = 5_000;
const WATCH_MS = 1_000;
/** Any process numbers an event older than this, because the leader may be frozen. */
const OVERDUE_MS = 500;

export interface Sequencer {
  /** Numbers queued events soon. Concurrent calls share a run. */
  wake(): void;
  start(): void;
  /** Numbers the rest if the database is available, and stops. */
  stop(): Promise<void>;
  /** Resolves once everything committed before the call is numbered. Rejects if the numbering fails or after `stop`. */
  whenNumbered(): Promise<void>;
  /** How long the oldest unnumbered event had waited at the last check. 0 if there was none or the check failed. */
  unnumberedMs(): number;
  isLeader(): boolean;
}

interface SequencerDependencies {
  database: Database;
  clock: Clock;
  log: Log;
}

/** Numbers committed events without gaps, in queue order, one process at a time. Business transactions never wait for numbering. */
export function createSequencer({ database, clock, log }: SequencerDependencies): Sequencer {
  const stopping = new AbortController();
  let queued = false;
  const takeQueued = (): boolean => {
    const taken = queued;
    queued = false;
    return taken;
  };
  const runs = createSingleFlight(createNumbering({ database, log, takeQueued, stopped: stopping.signal }), {
    clock,
    everyMs: RUN_EVERY_MS,
    atOnce: RUNS_AT_ONCE,
  });
  const numberQuietly = (): Promise<void> => runs.fresh().catch(() => {});
  let watching: Promise<void> | null = null;
  let unnumberedMs = 0;

  const poll = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await numberQuietly();
      await clock.sleep(POLL_MS, signal);
    }
  };
  const job = createSingletonJob({ database, clock, log, name: 'number_events', run: poll });

  /** Runs in every process, because the alarm must not depend on a leader that may be its cause. */
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(WATCH_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      unnumberedMs = await warnIfOverdue(database, log);
      if (unnumberedMs >= OVERDUE_MS) void numberQuietly();
    }
  };

  return {
    wake: () => {
      queued = true;
      if (!stopping.signal.aborted) void numberQuietly();
    },
    start: () => {
      if (stopping.signal.aborted) return;
      watching ??= watch();
      job.start();
    },
    stop: async () => {
      await numberQuietly();
      stopping.abort();
      await Promise.all([watching, job.stop(), runs.ended()]);
    },
    whenNumbered: () => runs.fresh(),
    unnumberedMs: () => unnumberedMs,
    isLeader: () => job.isLeader(),
  };
}

interface Numbering {
  database: Database;
  log: Log;
  /** Returns whether this process queued events since the last call. If so, the run needs no query to look for them. */
  takeQueued(): boolean;
  stopped: AbortSignal;
}

function createNumbering({ database, log, takeQueued, stopped }: Numbering): () => Promise<void> {
  let failing = false;
  return async () => {
    if (stopped.aborted) throw new Error('the sequencer is stopped');
    try {
      if (takeQueued() || (await hasUnnumbered(database))) while ((await numberUnderLock(database)) === BATCH);
      if (failing) log.info('sequencer_recovered');
      failing = false;
    } catch (error) {
      // Log once per outage; polling continues.
      if (!failing) log.error('sequencer_failed', { error });
      failing = true;
      throw error;
    }
  };
}

/** Holds the lock until the numbers are visible, so that no number appears below one that was already read. */
function numberUnderLock(database: Database): Promise<number> {
  return database.transaction(async (tx) => {
    // Send both at once. Each statement has its own snapshot, so the numbering sees the rows committed while it waited for the lock.
    const [, count] = await Promise.all([tx.lock('events'), numberBatch(tx.last, BATCH)]);
    return count;
  });
}

async function warnIfOverdue(database: Database, log: Log): Promise<number> {
  try {
    const waitedMs = await oldestUnnumberedMs(database);
    if (waitedMs !== null && waitedMs >= ALARM_MS) log.error('sequencer_late', { waited_ms: Math.round(waitedMs) });
    return waitedMs ?? 0;
  } catch (error) {
    // The numbering itself reports an unavailable database.
    if (!isUnavailable(error)) log.error('event_backlog_check_failed', { error });
    return 0;
  }
}
