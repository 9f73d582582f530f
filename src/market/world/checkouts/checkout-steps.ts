import type { CheckoutState } from '../../../contract/world-records.ts';

/**
 * What each act leads to from each state of a checkout. The trigger `world_checkouts_step` holds the same. A sale completes one that had
 * run out, or was closed, as well: the reservation that it opened may outlast it.
 */
export const CHECKOUT_STEPS = {
  expire: { open: 'expired' },
  close: { open: 'closed' },
  complete: { open: 'completed', expired: 'completed', closed: 'completed' },
} as const satisfies Record<string, Partial<Record<CheckoutState, CheckoutState>>>;

export type CheckoutAct = keyof typeof CHECKOUT_STEPS;

/** The state after the act; null where it is not allowed. */
export function nextCheckoutState(state: CheckoutState, act: CheckoutAct): CheckoutState | null {
  const steps: Partial<Record<CheckoutState, CheckoutState>> = CHECKOUT_STEPS[act];
  return steps[state] ?? null;
}
