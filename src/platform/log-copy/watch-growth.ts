import { type Clock, isoTime } from '../clock.ts';
import type { Queryable } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { LogEnd } from './log-copy.ts';
import { lacksEvents } from './store.ts';

/** Many times what a writer needs, and what the next one needs to take over from it. */
const BEHIND_AFTER_MS = 15_000;
/** An empty copy begins so far back. */
export const MEMORY_MS = 30 * 86_400_000;

interface GrowthContext {
  clock: Clock;
  log: Log;
  /** Holds this host's copy. */
  folder: string | null;
  /** The process that writes it; null where that is not known. */
  writer(): number | null;
}

export interface GrowthWatch {
  /** Compares the copy's end with the log. While history is lost, or the server is a standby, nothing is expected of the copy. */
  check(queryable: Queryable, end: LogEnd | null, isExpected: boolean): Promise<void>;
  /** Since when the copy has not grown while the log did; null: it does. Milliseconds since 1970. */
  behindSince(): number | null;
}

/** Notices a copy that stands stalled. It goes by the copy, whichever process writes it: one that has the lock may be stopped, or broken. */
export function watchGrowth({ clock, log, folder, writer }: GrowthContext): GrowthWatch {
  let stalled: { id: bigint; sinceMs: number } | null = null;
  let isBehind = false;
  return {
    check: async (queryable, end, isExpected) => {
      const nowMs = clock.now();
      const lacks = isExpected && (await lacksEvents(queryable, end, new Date(nowMs - MEMORY_MS)));
      const id = end?.id ?? 0n;
      if (lacks && stalled?.id === id) {
        // Also where the clock was set back.
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
