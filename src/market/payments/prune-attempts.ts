import type { Market } from '../context.ts';
import { deleteLapsedAttempts } from './store.ts';

/** The trigger asks for thirty days by the clock of the database; one more keeps the two clocks apart. */
const KEPT_MS = 31 * 86_400_000;
const BATCH = 500;

/** Rows of attempts that came to nothing do not pile up. Short transactions: a purchase never waits for this. */
export async function pruneAttempts({ database, clock }: Pick<Market, 'database' | 'clock'>): Promise<number> {
  const before = new Date(clock.now() - KEPT_MS);
  let count = 0;
  for (;;) {
    const deleted = await deleteLapsedAttempts(database, before, BATCH);
    count += deleted;
    if (deleted < BATCH) return count;
  }
}
