import type { Reason } from '../../contract/errors.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { BuyRequest } from './buy-request.ts';

/** What is answered over a row that was opened and is not verified. */
const UNVERIFIED: ReadonlySet<Reason> = new Set([
  ...(['verification_pending', 'payment_rejected', 'facilitator_refused'] as const),
  ...(['listing_changed', 'listing_removed'] as const),
]);

/**
 * Anybody can sign for an empty wallet, and each such row is looked at by every pass until it runs out. So callers leave only so many
 * behind; one that is verified, or was never opened, is given back.
 */
export async function limitAttempts<T>({ proof, takeAttempt }: BuyRequest, open: () => Promise<T>): Promise<T> {
  if (proof === null) return await open();
  const taken = takeAttempt();
  let isLeft = false;
  try {
    return await open();
  } catch (error) {
    isLeft = !(error instanceof Refusal) || UNVERIFIED.has(error.reason);
    throw error;
  } finally {
    taken.settle(isLeft ? 1 : 0);
  }
}
