import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { pendingAnswer } from '../../contract/listings.ts';
import type { Network } from '../../contract/vocabulary.ts';
import type { Watermark } from '../../platform/chain/accept-head.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { Payment } from './payment.ts';
import { estimateSeconds, presentPayment } from './present-payment.ts';
import { slipOf } from './recovery-slip.ts';

export type Pending = z.input<typeof pendingAnswer>;

const MAX_RETRY_SECONDS = 30;

/** The 202 for a payment that is undecided. */
export function pendingBody(
  market: Pick<Market, 'pepper'>,
  payment: Payment,
  watermark: Watermark | null,
  retry: 'same_request' | 'same_proof',
  now: number,
): Pending {
  const estimate = estimateSeconds(payment, watermark);
  const view = presentPayment(payment, watermark, payment.listingId, now);
  return {
    status: 'payment_pending',
    payment: view,
    ...slipIn(market, payment),
    do_not_pay_again: true,
    collected_by: payment.merchantId === null ? 'signature' : 'key',
    retry,
    retry_after_seconds: Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil((estimate ?? 2) / 4))),
    payment_ends_at: view.payment_ends_at,
    estimate_seconds: estimate,
    next_step: 'The payment is on its way. Send the same request again after retry_after_seconds. Do not pay again.',
  };
}

export function pendingHeaders(network: Network, payment: Payment, body: Pending): Record<string, string> {
  const settlement =
    payment.txHash === null ? {} : settlementHeaders(network, payment.txHash, checksummed(payment.payer));
  return { ...settlement, 'retry-after': body.retry_after_seconds.toString() };
}

/** A field of the answer. */
export function slipIn(market: Pick<Market, 'pepper'>, payment: Payment): { recovery_slip?: string } {
  const slip = slipOf(market, payment);
  return slip === null ? {} : { recovery_slip: slip };
}

/** The money arrived and a person decides: never delivered, never to be paid again. */
export function reviewRefusal(payment: Payment, watermark: Watermark | null, now: number): Refusal {
  return new Refusal('needs_review', {
    fields: { payment_status: 'needs_review', payment: presentPayment(payment, watermark, payment.listingId, now) },
  });
}

/** The settlement as x402 clients read it, in both versions. */
export function settlementHeaders(network: Network, transaction: string, payer: string): Record<string, string> {
  const encode = (name: string): string =>
    Buffer.from(JSON.stringify({ success: true, transaction, network: name, payer })).toString('base64');
  return { 'x-payment-response': encode(network.name), 'payment-response': encode(network.caip2) };
}
