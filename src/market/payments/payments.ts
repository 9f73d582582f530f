import { createPasses } from '../../platform/create-passes.ts';
import type { Market } from '../context.ts';
import type { Completions } from './completion.ts';
import { createDriver } from './drive-payment.ts';
import { type ChainHead, readHead } from './head/read-head.ts';
import type { Payment } from './payment.ts';
import { createPass, createReconciler } from './reconcile.ts';
import { declineOldReviews } from './review/decline-old-reviews.ts';
import { createSettler } from './settle-payment.ts';
import { findPayment } from './store.ts';
import { createPayeeCheck } from './x402/check-payee.ts';

/** The money core as the features see it. Made once, in create-market.ts, with what each purpose does on completion. */
export function createPayments(market: Market, completions: Completions, options: { reconcileEveryMs: number }) {
  const heads = createPasses<ChainHead>(() => readHead(market));
  const settler = createSettler(market, completions, () => heads.fresh());
  const reconcileOnce = createPass(market, settler.settleMany);
  const declineOld = (): Promise<void> => declineOldReviews(market, completions);
  return {
    completions,
    payees: createPayeeCheck(market),
    /** The heads of the chain, read once for all who ask at the same time. */
    readHead: () => heads.fresh(),
    /** Hands a proof to the facilitator, step by step; see drive-payment.ts. */
    drive: createDriver(market, completions),
    listingOf: (payment: Payment) => completions[payment.purpose].listingOf(market.database, payment),
    reread: (payment: Payment) => findPayment(market.database, payment.id),
    /** Reads the chain about one payment and ends it if it can. */
    settle: settler.settle,
    reconcileOnce,
    /** Ends reviews that nobody decided on in time. */
    declineOld,
    reconciler: createReconciler(market, { pass: reconcileOnce, declineOld }, options.reconcileEveryMs),
  };
}
export type Payments = ReturnType<typeof createPayments>;
