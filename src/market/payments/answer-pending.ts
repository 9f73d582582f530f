import type { z } from 'zod';
import type { pendingAnswer } from '../../contract/listings.ts';
import { isoTime } from '../../platform/clock.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Watermark } from './head/accept-head.ts';
import { estimateSeconds, presentPayment } from './present-payment.ts';
import type { Payment } from './store.ts';

export type Pending = z.input<typeof pendingAnswer>;

const MAX_RETRY_SECONDS = 30;

/** The 202 for a payment that is undecided. */
export function pendingBody(
  payment: Payment,
  watermark: Watermark | null,
  retry: 'same_request' | 'same_proof',
): Pending {
  const estimate = estimateSeconds(payment, watermark);
  return {
    status: 'payment_pending',
    payment: presentPayment(payment, watermark, payment.listingId),
    do_not_pay_again: true,
    retry,
    retry_after_seconds: Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((estimate ?? 2) / 4))),
    payment_ends_at: isoTime(Number(payment.validBefore) * 1000),
    estimate_seconds: estimate,
    next_step: 'The payment is on its way. Send the same request again after retry_after_seconds. Do not pay again.',
  };
}

/** What an undecided payment is answered with while no transfer of it is seen on the chain. */
export function unseenRefusal(payment: Payment): Refusal {
  return payment.status === 'verifying'
    ? new Refusal('verification_pending', { retryAfterSeconds: 2 })
    : new Refusal('settlement_pending', { retryAfterSeconds: 2 });
}
