import { mkdir } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { FolderInUse, lockDataFolder } from '../data-folder.ts';
import type { Database } from '../database/database.ts';
import { isUnavailable } from '../database/database-error.ts';
import type { Log } from '../log.ts';
import { isNextEvent, type LogCopyWriter, openLogCopy } from './log-copy.ts';
import { findCopyStart, readEventsToCopy, recordCopyEnd } from './store.ts';
import { MAX_COPIED_AGE_MS } from './watch-growth.ts';

/** An event must be on disk within a second. */
const POLL_MS = 200;
const BATCH_SIZE = 500;
const RECORD_EVERY_MS = 10_000;
/** How long the copy may pause after its writer has died. */
const RETRY_MS = 1_000;

interface LogCopyContext {
  database: Database;
  clock: Clock;
  log: Log;
  folder: string;
  host: string;
  /** The newest event id of the log, as far as this process knows. */
  newestId(): bigint;
  /** True while history is lost. Copying then stops, because the log no longer contains all public events. */
  isLost(): boolean;
  /** Called if the log does not continue from the end of the copy. */
  onBreak(): Promise<void>;
}

export interface KeptCopy {
  start(): void;
  stop(): Promise<void>;
  /** True if this process writes the copy of its host. */
  isWriter(): boolean;
  /** True if the last write failed. */
  isFailing(): boolean;
  /** Process id of the host's writer. Null if there is none or it is unknown. */
  writer(): number | null;
}

/** Copies the log to this host's folder. One process of a host writes; if it dies, another takes over. */
export function keepLogCopy(context: LogCopyContext): KeptCopy {
  const { clock, log, folder } = context;
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | null = null;
  let isWriting = false;
  let isFailing = false;
  let writer: number | null = null;

  const write = async (): Promise<void> => {
    const copy = await openLogCopy(folder, () => clock.now());
    isWriting = true;
    writer = process.pid;
    try {
      const round = createRounds(context, copy);
      while (!signal.aborted) {
        await round();
        if (isFailing) log.info('log_copy_recovered');
        isFailing = false;
        await clock.sleep(POLL_MS, signal);
      }
    } finally {
      isWriting = false;
      writer = null;
      await copy.close();
    }
  };
  const writeAlone = async (): Promise<void> => {
    // Somebody may have deleted the folder.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = await lockDataFolder(folder, folder);
    try {
      await write();
    } finally {
      await lock.release();
    }
  };
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await writeAlone();
      } catch (error) {
        // Another process of the host is the writer. `watchGrowth` checks that the copy grows.
        if (error instanceof FolderInUse) writer = error.pid;
        else {
          // Log once per outage. Other code already reports an unavailable database.
          if (!isFailing && !isUnavailable(error)) log.error('log_copy_failed', { error });
          isFailing = true;
        }
      }
      await clock.sleep(RETRY_MS, signal);
    }
  };
  return {
    start: () => {
      running ??= run();
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
    isWriter: () => isWriting,
    isFailing: () => isFailing,
    writer: () => writer,
  };
}

/** Returns a function that copies all new events. */
function createRounds(context: LogCopyContext, copy: LogCopyWriter): () => Promise<void> {
  const { database, clock, host } = context;
  let recordedAt = 0;

  const reportBreak = async (at: bigint): Promise<void> => {
    await context.onBreak();
    // The log contains the end of the copy, but its next event does not continue from it. No other check reports this.
    if (!context.isLost()) throw new Error(`event ${at} of the log does not follow from the end of the copy`);
  };
  const copyNew = async (): Promise<void> => {
    for (;;) {
      const end = copy.end();
      const after = end?.id ?? (await findCopyStart(database, new Date(clock.now() - MAX_COPIED_AGE_MS)));
      if (after === null || (end !== null && context.newestId() <= end.id)) return;
      const events = await readEventsToCopy(database, after, BATCH_SIZE);
      const [first] = events;
      if (first === undefined) return;
      if (!isNextEvent(end, first)) return await reportBreak(first.id);
      await copy.append(events);
      if (events.length < BATCH_SIZE) return;
    }
  };
  return async () => {
    if (context.isLost()) return;
    await copyNew();
    const end = copy.end();
    if (end === null || Math.abs(clock.now() - recordedAt) < RECORD_EVERY_MS) return;
    await recordCopyEnd(database, host, end, new Date(clock.now()));
    recordedAt = clock.now();
  };
}
