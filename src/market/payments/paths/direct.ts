import type { DirectPayment } from '../payment.ts';
import { type ClaimReading, gatherClaims } from './direct/gather-claims.ts';
import { settleClaim } from './direct/settle-claim.ts';
import { insertClaim, type NewClaim } from './direct/store.ts';
import type { PaymentPath } from './payment-path.ts';

/** A transfer that the buyer makes for an intent, and claims with a signature. */
export const direct: PaymentPath<DirectPayment, NewClaim, ClaimReading> = {
  open: insertClaim,
  isShownBy: () => false,
  mayDrive: async () => false,
  // The buyer has sent it: there is nothing to hand on.
  drive: async (_context, payment) => ({ current: payment, refusal: null }),
  evidence: ({ market, corroboration }, { head, isUnchanged }, payments) =>
    gatherClaims({ market, corroboration, isUnchanged }, head, payments),
  seenIn: (evidence) => [...evidence.values()].map(({ receipt }) => receipt?.blockNumber ?? null),
  decide: settleClaim,
  // A transaction that proves another payment is refused before it can end a claim.
  locate: async () => null,
  present: {
    expiresAt: ({ windowTo }) => windowTo.getTime(),
    verifying: () => 'Send the same claim again. Do not pay again.',
    settling: 'Wait, or send the same claim again. Do not pay again.',
    unpaid:
      'No transaction that was named for it fits. If another one paid, claim that; else a new intent may be opened.',
    collect: 'Collect the goods with the key or a fresh signature of the payer. Do not pay again.',
    fields: ({ intentId }) => ({ intent_id: intentId }),
    slipTerms: () => null,
    spentReason: 'transaction_used',
  },
};
