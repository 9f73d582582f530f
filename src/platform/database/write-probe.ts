import sql from 'sql-template-tag';
import type { Clock } from '../clock.ts';
import type { Database } from './database.ts';
import { isUnavailable, whyUnavailable } from './database-error.ts';

/** Minimum time between two probes, however many callers ask. */
const EVERY_MS = 3_000;
/** Longest time that a caller waits for a probe, because the server may hang, or a commit may wait for its standby. */
const TIMEOUT_MS = 2_000;

export interface WriteProbe {
  /** Returns in one word why the database accepts no writes, or null if it does. Reuses a recent answer. */
  check(): Promise<string | null>;
}

/** Checks by updating one row whether the database accepts writes. Needs the table `rate_counters`, which both sites have. */
export function createWriteProbe({ database, clock }: { database: Database; clock: Clock }): WriteProbe {
  let last: { at: number; why: Promise<string | null>; ended: boolean } | null = null;

  const begin = (): Promise<string | null> => {
    const why = writeProbeRow(database);
    const begun = { at: clock.now(), why, ended: false };
    last = begun;
    const end = (): void => {
      begun.ended = true;
    };
    why.then(end, end);
    return why;
  };
  return {
    check: async () => {
      const isFresh = last !== null && (!last.ended || Math.abs(clock.now() - last.at) < EVERY_MS);
      const why = isFresh && last !== null ? last.why : begin();
      const giveUp = new AbortController();
      try {
        return await Promise.race([why, clock.sleep(TIMEOUT_MS, giveUp.signal).then(() => 'no_answer')]);
      } finally {
        giveUp.abort();
      }
    },
  };
}

async function writeProbeRow(database: Database): Promise<string | null> {
  try {
    await database.transaction(async (tx) => {
      // Updating a row needs no disk space and succeeds on a full disk. This count exceeds its memory limit, so it needs a temporary file.
      tx.later(sql`set local work_mem = '64kB'`);
      tx.later(sql`set local temp_tablespaces = ''`);
      await tx.one(sql`select count(*) from generate_series(1, 8000)`);
      await tx.last.run(sql`
        insert into rate_counters as probe (name, subject, window_start, used) values ('write_probe', 'all', 'infinity', 0)
        on conflict (name, subject, window_start) do update set used = 1 - probe.used`);
    });
    return null;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return whyUnavailable(error) ?? 'no_answer';
  }
}
