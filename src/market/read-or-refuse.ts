import { isUnavailable } from '../platform/database/database-error.ts';
import { Refusal } from '../platform/refusal.ts';

const QUERY_CANCELED = '57014';

/** For reads about money: an answer that cannot be given must not look like "nothing was paid" (W2). */
export async function readOrRefuse<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isUnavailable(error) && !tookTooLong(error)) throw error;
    throw new Refusal('read_unavailable', { retryAfterSeconds: 5 });
  }
}

function tookTooLong(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === QUERY_CANCELED;
}
