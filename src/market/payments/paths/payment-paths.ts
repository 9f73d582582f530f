import type { PaymentWay } from '../../../contract/vocabulary.ts';
import type { DirectPayment, Payment, X402Payment } from '../payment.ts';
import { endClaimByEvidence } from './direct/end-claim.ts';
import { type ClaimReading, gatherClaims } from './direct/gather-claims.ts';
import { insertClaim, type NewClaim } from './direct/store.ts';
import type { PaymentPath } from './payment-path.ts';
import { attemptTermsOf, decide, type Evidence } from './x402/decide.ts';
import { drivePayment, mayDrive } from './x402/drive-payment.ts';
import { endPaymentByEvidence } from './x402/end-payment.ts';
import { gatherEvidence } from './x402/gather-evidence.ts';
import { type Attempt, openAttempt } from './x402/store.ts';

/** A signed authorization that comes with the request; a facilitator submits it. */
const x402: PaymentPath<X402Payment, Attempt, Evidence> = {
  open: openAttempt,
  isShownBy: ({ nonce }, { authorization }) => nonce === authorization.nonce,
  mayDrive: ({ market }, payment, proof) => mayDrive(market, payment, proof),
  drive: drivePayment,
  evidence: async (context, { head, isUnchanged }, payments) => {
    const changed = payments.filter((payment) => !isUnchanged(payment, [payment.blockNumber]));
    return await gatherEvidence(context, head, changed);
  },
  question: 'logs',
  seenIn: ({ use }) => [use?.log.blockNumber ?? null],
  decide: endPaymentByEvidence,
  locate: async (context, head, payment) => {
    const evidence = (await gatherEvidence(context, head, [payment])).get(payment.id);
    const decision = evidence && decide(evidence, attemptTermsOf(payment, null));
    return decision !== undefined && 'transfer' in decision ? decision.transfer.logIndex : null;
  },
  present: {
    expiresAt: ({ validBefore }) => Number(validBefore) * 1000,
    verifying: ({ stoppedAt }) =>
      stoppedAt === null
        ? 'Send the same request with the same proof again. Do not pay again.'
        : 'The listing was edited before this payment was submitted, so it will not be. Wait until payment_ends_at. Do not pay again before.',
    settling: 'Wait, or send the same request with the same proof again. Do not pay again.',
    unpaid: 'The payee was not paid by it, and cannot be any more. A new payment may be signed.',
    collect: 'Collect the goods with the key, the delivery token or a fresh signature of the payer. Do not pay again.',
    fields: () => ({}),
    slipTerms: ({ nonce, validAfter, validBefore, openedBlock, signersReadAt }) => ({
      ...{ nonce, validAfter, validBefore, openedBlock },
      signersReadAt: signersReadAt?.getTime() ?? null,
    }),
    spentReason: 'payment_bound_elsewhere',
  },
};

/** A transfer that the buyer makes for an intent and claims with a signature. */
const direct: PaymentPath<DirectPayment, NewClaim, ClaimReading> = {
  open: insertClaim,
  isShownBy: () => false,
  mayDrive: async () => false,
  // The buyer has already sent the transfer, so there is nothing to submit.
  drive: async (_context, payment) => ({ current: payment, refusal: null }),
  evidence: ({ market, corroboration }, { head, isUnchanged }, payments) =>
    gatherClaims({ market, corroboration, isUnchanged }, head, payments),
  question: 'receipts',
  seenIn: (evidence) => [...evidence.values()].map(({ receipt }) => receipt?.blockNumber ?? null),
  decide: endClaimByEvidence,
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

/** One entry for each payment method; a missing one does not compile. */
export const PAYMENT_PATHS = { x402, direct } as const satisfies {
  readonly [Way in PaymentWay]: PaymentPath<Extract<Payment, { path: Way }>, never, unknown>;
};

/** Returns the payment's path, for code that handles all payments alike. Pass evidence only to the path that made it. */
export function pathOf({ path }: Pick<Payment, 'path'>): PaymentPath<Payment, never, unknown> {
  return PAYMENT_PATHS[path] as unknown as PaymentPath<Payment, never, unknown>;
}
