import { type Client, DatabaseError } from 'pg';
import { systemClock } from '../clock.ts';

/** Attempts that give up a lock early. Later ones wait for it, because PostgreSQL then cancels an autovacuum that holds it. */
export const YIELDING_ATTEMPTS = 10;
const ATTEMPTS = 20;
/** Pause between two attempts, in which the requests that waited go on. */
const PAUSE_MS = 250;

/**
 * Ends the wait for a lock after half of `deadlock_timeout`, in this transaction only. A request that waits for this transaction looks for
 * a deadlock after the whole of it, and PostgreSQL would cancel the request.
 */
const YIELD_EARLY = `select set_config('lock_timeout', greatest(setting::int8 / 2, 1)::text, true)
  from pg_settings where name = 'deadlock_timeout'`;

/** SQLSTATEs of a deadlock and of a lock timeout. */
const LOCK_CONFLICTS: ReadonlySet<string> = new Set(['40P01', '55P03']);

export type OnConflict = (attempt: number, reason: string) => void;

/**
 * Runs `act` in one transaction beside others. If a lock that another transaction holds ends it, nothing is changed, and it runs again.
 * Throws after 20 attempts, which take 15 seconds unless the last ones wait.
 */
export async function yieldingTransaction<T>(
  client: Client,
  act: () => Promise<T>,
  onConflict: OnConflict,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query('begin');
      if (attempt <= YIELDING_ATTEMPTS) await client.query(YIELD_EARLY);
      const value = await act();
      await client.query('commit');
      return value;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      if (!(error instanceof DatabaseError) || !LOCK_CONFLICTS.has(error.code ?? '')) throw error;
      if (attempt === ATTEMPTS) throw stillLocked(error);
      onConflict(attempt, error.message);
      await systemClock.sleep(PAUSE_MS);
    }
  }
}

function stillLocked(error: DatabaseError): Error {
  return new Error(
    `${error.message}, in each of ${ATTEMPTS} attempts. Nothing was changed, because other transactions lock its tables. Migrate again when they have ended`,
    { cause: error },
  );
}
