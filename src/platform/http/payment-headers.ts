import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { PaymentHeaders } from './operation.ts';

export const PAYMENT_HEADER_NAMES = ['x-payment', 'payment-signature', 'x-delivery-token', 'x-recovery-slip'] as const;

/** Every value of a header as sent; Node joins repeated ones with a comma, which would hide that there were two. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** At most one proof, once (W7). */
export function readPaymentHeaders(rawHeaders: readonly string[]): PaymentHeaders {
  const [v1, v2, tokens] = PAYMENT_HEADER_NAMES.map((name) => headerValues(rawHeaders, name));
  const proofs = [...(v1 ?? []), ...(v2 ?? [])];
  if (proofs.some((proof) => proof.length > HEADER_LIMIT_BYTES)) throw new Refusal('headers_too_large');
  if (proofs.length > 1) {
    throw new Refusal('two_proofs', { detail: 'X-PAYMENT and PAYMENT-SIGNATURE together hold more than one proof.' });
  }
  if ((tokens?.length ?? 0) > 1)
    throw new Refusal('two_proofs', { detail: 'X-Delivery-Token was sent more than once.' });
  return { v1: v1?.[0] ?? null, v2: v2?.[0] ?? null, deliveryToken: tokens?.[0] ?? null, ...readSlip(rawHeaders) };
}

/** What a market once said of a payment, which it may have lost since; read on every route that acts. */
export function readSlip(rawHeaders: readonly string[]): Pick<PaymentHeaders, 'recoverySlip'> {
  return { recoverySlip: headerValues(rawHeaders, 'x-recovery-slip')[0] ?? null };
}
