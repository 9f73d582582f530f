import { Refusal } from '../../platform/refusal.ts';
import type { Payment } from './payment.ts';

const LEAST_RETRY_SECONDS = 2;

/** What an undecided payment is answered with while no transfer of it is seen on the chain. */
export function unseenRefusal(payment: Payment): Refusal {
  return payment.status === 'verifying'
    ? new Refusal('verification_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS })
    : new Refusal('settlement_pending', { retryAfterSeconds: LEAST_RETRY_SECONDS });
}

/**
 * The listing was edited before the payment was submitted: it never will be, and it ends unpaid once its authorization has run out, at
 * `expiresAt` in milliseconds.
 */
export function stoppedRefusal(expiresAt: number, now: number): Refusal {
  const retryAfterSeconds = Math.max(LEAST_RETRY_SECONDS, Math.ceil((expiresAt - now) / 1000));
  return new Refusal('listing_changed', { retryAfterSeconds });
}
