import { createSingletonJob, type SingletonJob } from '../../../platform/background-jobs.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { deleteOldChanges } from './store.ts';

/** A process that was cut off for longer reads the whole catalog again. */
export const KEPT_MS = 60 * 60_000;
const EVERY_MS = 60_000;
/** Short transactions: each ends with a lock that edits of listings wait for. */
const BATCH = 5_000;

/** Deletes every change that is older than that; returns how many. */
export async function pruneChanges(
  database: Database,
  olderThanMs: number,
  options: { batch?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const batch = options.batch ?? BATCH;
  let count = 0;
  for (;;) {
    const deleted = await database.transaction((tx) => deleteOldChanges(tx, olderThanMs, batch));
    count += deleted;
    if (deleted < batch || options.signal?.aborted) return count;
  }
}

/** Keeps the list of changes short: a job of one process at a time. */
export function createPruning({ database, clock, log }: { database: Database; clock: Clock; log: Log }): SingletonJob {
  return createSingletonJob({
    database,
    clock,
    log,
    name: 'prune_changes',
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          await pruneChanges(database, KEPT_MS, { signal });
        } catch (error) {
          log.error('changes_not_pruned', { error });
        }
        await clock.sleep(EVERY_MS, signal);
      }
    },
  });
}
