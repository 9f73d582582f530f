/**
 * Where a payment may go from each state; the trigger `payments_move_forward` holds the same. By x402 one begins as `verifying`; a
 * claim has nothing to verify before it may be on the chain, and begins as `settling`. What has ended stays as it ended.
 */
export const PAYMENT_STEPS = {
  verifying: ['settling', 'completed', 'unpaid', 'needs_review'],
  settling: ['completed', 'unpaid', 'needs_review'],
  needs_review: ['completed', 'rejected'],
  completed: [],
  unpaid: [],
  rejected: [],
} as const;

export type PaymentStatus = keyof typeof PAYMENT_STEPS;
/** What the chain alone ends a payment as. */
export type ChainEnd = (typeof PAYMENT_STEPS)['settling'][number];

function mayStep(from: PaymentStatus, to: PaymentStatus): boolean {
  const next: readonly PaymentStatus[] = PAYMENT_STEPS[from];
  return next.includes(to);
}

/** The chain has not had its say: it may still show that nothing was paid. */
export function isOpenStatus(status: PaymentStatus): boolean {
  return mayStep(status, 'unpaid');
}

/** Nothing more becomes of it. */
export function hasEnded(status: PaymentStatus): boolean {
  return PAYMENT_STEPS[status].length === 0;
}
