import { constraintOf } from '../database/database-error.ts';
import { Refusal } from '../refusal.ts';

const RETRY_SECONDS = 60;

export function historyLost(): Refusal {
  return new Refusal('history_lost', { retryAfterSeconds: RETRY_SECONDS });
}

/** What the database refuses by itself, before this process has heard of a loss; null for anything else. */
export function refuseLost(error: unknown): Refusal | null {
  return constraintOf(error)?.constraint === 'history_is_whole' ? historyLost() : null;
}
