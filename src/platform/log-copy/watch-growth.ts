import { type Clock, isoTime } from '../clock.ts';
import type { Queryable } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { LogEnd } from './log-copy.ts';
import { hasEventsToCopy } from './store.ts';

/** Many times longer than a writer needs for an event, or a new writer to take over. */
const BEHIND_AFTER_MS = 15_000;
/** A new copy starts with events that are at most this old. */
export const MAX_COPIED_AGE_MS = 30 * 86_400_000;

interface GrowthContext {
  clock: Clock;
  log: Log;
  /** Folder of this host's copy. */
  folder: string | null;
  /** Process id of the copy's writer. Null if unknown. */
  writer(): number | null;
}

export interface GrowthWatch {
  /** Compares the end of the copy with the log. Pass `isExpected` as false while history is lost or the server is a standby. */
  check(queryable: Queryable, end: LogEnd | null, isExpected: boolean): Promise<void>;
  /** Since when the log has grown without the copy, in milliseconds since 1970. Null if the copy is growing. */
  behindSince(): number | null;
}

/** Detects a copy that no longer grows. Checks the copy itself, because a process that holds the writer's lock may be stopped or broken. */
export function watchGrowth({ clock, log, folder, writer }: GrowthContext): GrowthWatch {
  let stalled: { id: bigint; sinceMs: number } | null = null;
  let isBehind = false;
  return {
    check: async (queryable, end, isExpected) => {
      const nowMs = clock.now();
      const lacks = isExpected && (await hasEventsToCopy(queryable, end, new Date(nowMs - MAX_COPIED_AGE_MS)));
      const id = end?.id ?? 0n;
      if (lacks && stalled?.id === id) {
        // `Math.abs` also covers a clock that was set back.
        if (isBehind || Math.abs(nowMs - stalled.sinceMs) < BEHIND_AFTER_MS) return;
        isBehind = true;
        log.error('log_copy_behind', {
          path: folder,
          event_id: Number(id),
          pid: writer(),
          from: isoTime(stalled.sinceMs),
        });
        return;
      }
      stalled = lacks ? { id, sinceMs: nowMs } : null;
      if (isBehind) log.info('log_copy_caught_up', { event_id: Number(id) });
      isBehind = false;
    },
    behindSince: () => (isBehind ? (stalled?.sinceMs ?? null) : null),
  };
}
