import { createSingleFlight, createSingletonJob } from '../../platform/background-jobs.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import { isUnavailable } from '../../platform/database/database-error.ts';
import type { Log } from '../../platform/log.ts';
import { hasUnnumbered, numberBatch, oldestUnnumberedMs } from './store.ts';

const BATCH = 500;
/** For rows that other processes committed, and for what a failed pass left. */
const POLL_MS = 100;
/** While much is committed, acts share passes; one that comes alone does not wait. */
const PASS_EVERY_MS = 20;
const PASSES_AT_ONCE = 4;
const ALARM_MS = 5_000;
const WATCH_MS = 1_000;
/** An event older than this is numbered by any process that sees it: the leader may be frozen. */
const OVERDUE_MS = 500;

export interface Sequencer {
  /** Numbers soon; calls that come together are one pass. */
  wake(): void;
  /** Begins to watch, and to poll while this process is the leader. */
  start(): void;
  /** Numbers what is left, as far as the database lets it, and ends. */
  stop(): Promise<void>;
  /** Resolves once everything committed before the call is numbered; rejects when that pass fails or after `stop`. */
  settled(): Promise<void>;
  /** How long the oldest event waited when it was last looked at; 0: nothing waited. */
  unnumberedMs(): number;
  /** Whether this process is the one that polls. */
  isLeader(): boolean;
}

interface SequencerDependencies {
  database: Database;
  clock: Clock;
  log: Log;
}

/**
 * Gives committed events their numbers: gapless, in queue order, one numbering at a time across all processes. Nothing is
 * numbered inside the business transactions, so those never wait for each other here.
 */
export function createSequencer({ database, clock, log }: SequencerDependencies): Sequencer {
  const stopping = new AbortController();
  let queued = false;
  const takeQueued = (): boolean => {
    const taken = queued;
    queued = false;
    return taken;
  };
  const passes = createSingleFlight(createNumbering({ database, log, takeQueued, stopped: stopping.signal }), {
    clock,
    everyMs: PASS_EVERY_MS,
    atOnce: PASSES_AT_ONCE,
  });
  const quietly = (): Promise<void> => passes.fresh().catch(() => {});
  let watching: Promise<void> | null = null;
  let unnumberedMs = 0;

  const poll = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await quietly();
      await clock.sleep(POLL_MS, signal);
    }
  };
  const job = createSingletonJob({ database, clock, log, name: 'number_events', run: poll });

  /** In every process: an alarm must not depend on the one that may be its cause. */
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(WATCH_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      unnumberedMs = await warnIfOverdue(database, log);
      if (unnumberedMs >= OVERDUE_MS) void quietly();
    }
  };

  return {
    wake: () => {
      queued = true;
      if (!stopping.signal.aborted) void quietly();
    },
    start: () => {
      if (stopping.signal.aborted) return;
      watching ??= watch();
      job.start();
    },
    stop: async () => {
      await quietly();
      stopping.abort();
      await Promise.all([watching, job.stop(), passes.ended()]);
    },
    settled: () => passes.fresh(),
    unnumberedMs: () => unnumberedMs,
    isLeader: () => job.isLeader(),
  };
}

interface Numbering {
  database: Database;
  log: Log;
  /** Whether this process has queued something since it was last asked: then no query has to look first. */
  takeQueued(): boolean;
  stopped: AbortSignal;
}

/** One pass over all that is unnumbered. */
function createNumbering({ database, log, takeQueued, stopped }: Numbering): () => Promise<void> {
  let failing = false;
  return async () => {
    if (stopped.aborted) throw new Error('the sequencer is stopped');
    try {
      if (takeQueued() || (await hasUnnumbered(database))) while ((await numberUnderLock(database)) === BATCH);
      if (failing) log.info('sequencer_recovered');
      failing = false;
    } catch (error) {
      // One line for a whole outage; the poll goes on trying.
      if (!failing) log.error('sequencer_failed', { error });
      failing = true;
      throw error;
    }
  };
}

/** The lock is held until the numbers are visible, so that no number ever appears below one that was read. */
function numberUnderLock(database: Database): Promise<number> {
  return database.transaction(async (tx) => {
    // Handed in together; the numbering sees what the lock has waited for, as each statement has a snapshot of its own.
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
    // That the database is away, the numbering says itself.
    if (!isUnavailable(error)) log.error('events_not_watched', { error });
    return 0;
  }
}
