import type { Payment } from '../payment.ts';
import { direct } from './direct.ts';
import type { PaymentPath } from './payment-path.ts';
import { x402 } from './x402.ts';

/** A new way to pay is a line here, and a file next to this one. */
export const PAYMENT_PATHS = { x402, direct } as const satisfies Record<Payment['path'], object>;

/** The path of that payment, for all that treats payments alike. What one path reads as evidence, only the same path is given. */
export function pathOf({ path }: Pick<Payment, 'path'>): PaymentPath<Payment, never, unknown> {
  return PAYMENT_PATHS[path] as unknown as PaymentPath<Payment, never, unknown>;
}
