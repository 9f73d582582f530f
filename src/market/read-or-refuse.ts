import { isUnavailable } from '../platform/database/database-error.ts';
import { Refusal } from '../platform/refusal.ts';

/** For reads about money: an answer that cannot be given must not look like "nothing was paid" (W2). */
export async function readOrRefuse<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new Refusal('read_unavailable', { retryAfterSeconds: 5 });
  }
}
