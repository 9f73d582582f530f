import type { Reason } from '../../contract/errors.ts';
import { isUnavailable } from '../database/database-error.ts';
import { Refusal } from '../refusal.ts';

/** Query canceled, serialization failure, deadlock: nothing was done, and the same request may do it. */
const PASSING: ReadonlySet<string> = new Set(['57014', '40001', '40P01']);
const RETRY_SECONDS = 2;

/**
 * What a database that is away, or too slow, means on a route with these reasons: a read about money that cannot be served must not
 * look like "nothing was paid" (W2). Null: the error is something else.
 */
export function refuseUnreadable(error: unknown, reasons: readonly Reason[]): Refusal | null {
  if (!isUnavailable(error) && !isPassing(error)) return null;
  const reason = reasons.includes('read_unavailable') ? 'read_unavailable' : 'unavailable';
  return new Refusal(reason, { retryAfterSeconds: RETRY_SECONDS });
}

function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && PASSING.has(error.code);
}
