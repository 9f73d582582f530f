import type { Clock } from '../../platform/clock.ts';
import { createPasses } from '../../platform/create-passes.ts';
import type { Database } from '../../platform/database/database.ts';
import { isUnavailable } from '../../platform/database/database-error.ts';
import type { Log } from '../../platform/log.ts';
import { hasUnnumbered, numberBatch, oldestUnnumberedMs } from './store.ts';

const BATCH = 500;
/** For rows that other processes committed, and for what a failed pass left. */
const POLL_MS = 100;
const ALARM_MS = 5_000;
const ALARM_CHECK_MS = 1_000;

export interface Sequencer {
  /** Numbers soon; calls that come together are one pass. */
  wake(): void;
  /** Begins to poll. */
  start(): void;
  /** Numbers what is left, as far as the database lets it, and ends. */
  stop(): Promise<void>;
  /** Resolves once everything committed before the call is numbered; rejects when that pass fails or after `stop`. */
  settled(): Promise<void>;
}

interface Needs {
  database: Database;
  clock: Clock;
  log: Log;
}

/**
 * Gives committed events their numbers: gapless, in queue order, one numbering at a time across all processes. Nothing is
 * numbered inside the business transactions, so those never wait for each other here.
 */
export function createSequencer({ database, clock, log }: Needs): Sequencer {
  const stopping = new AbortController();
  const loops: Promise<void>[] = [];
  const passes = createPasses(createNumbering(database, log, stopping.signal));
  const quietly = (): Promise<void> => passes.fresh().catch(() => {});

  const poll = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await quietly();
      await clock.sleep(POLL_MS, stopping.signal);
    }
  };

  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await clock.sleep(ALARM_CHECK_MS, stopping.signal);
      if (!stopping.signal.aborted) await raiseAlarm(database, log);
    }
  };

  return {
    wake: () => {
      if (!stopping.signal.aborted) void quietly();
    },
    start: () => {
      if (loops.length === 0 && !stopping.signal.aborted) loops.push(poll(), watch());
    },
    stop: async () => {
      await quietly();
      stopping.abort();
      await Promise.all([...loops, passes.ended()]);
    },
    settled: () => passes.fresh(),
  };
}

/** One pass over all that is unnumbered. */
function createNumbering(database: Database, log: Log, stopped: AbortSignal): () => Promise<void> {
  let failing = false;
  return async () => {
    if (stopped.aborted) throw new Error('the sequencer is stopped');
    try {
      if (await hasUnnumbered(database)) while ((await numberUnderLock(database)) === BATCH);
      if (failing) log.info('events_numbered_again');
      failing = false;
    } catch (error) {
      // One line for a whole outage; the poll goes on trying.
      if (!failing) log.error('events_not_numbered', { error });
      failing = true;
      throw error;
    }
  };
}

/** The lock is held until the numbers are visible, so that no number ever appears below one that was read. */
function numberUnderLock(database: Database): Promise<number> {
  return database.transaction(async (tx) => {
    await tx.lock('events');
    return numberBatch(tx, BATCH);
  });
}

async function raiseAlarm(database: Database, log: Log): Promise<void> {
  try {
    const waitedMs = await oldestUnnumberedMs(database);
    if (waitedMs !== null && waitedMs >= ALARM_MS) log.error('event_unnumbered', { waited_ms: Math.round(waitedMs) });
  } catch (error) {
    // That the database is away, the numbering says itself.
    if (!isUnavailable(error)) log.error('events_not_watched', { error });
  }
}
