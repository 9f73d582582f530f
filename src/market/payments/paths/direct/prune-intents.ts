import { INTENT_KEPT_DAYS } from '../../../../contract/vocabulary.ts';
import type { Market } from '../../../context.ts';
import { deleteOldIntents } from './store.ts';

const DAY_MS = 86_400_000;
/** Short transactions, so that a claim that comes meanwhile does not wait. */
const BATCH = 500;

/** Deletes intents that were not claimed in all that time. Those that a claim names stay. Returns how many went. */
export async function pruneIntents({ database, clock }: Pick<Market, 'database' | 'clock'>): Promise<number> {
  const before = new Date(clock.now() - INTENT_KEPT_DAYS * DAY_MS);
  let count = 0;
  for (;;) {
    const deleted = await deleteOldIntents(database, before, BATCH);
    count += deleted;
    if (deleted < BATCH) return count;
  }
}
