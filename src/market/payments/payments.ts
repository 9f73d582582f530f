import { createStandings } from '../../platform/chain/standing.ts';
import { createPasses } from '../../platform/create-passes.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { Completions } from './completion.ts';
import { pruneIntents } from './direct/prune-intents.ts';
import { createDriver, type Driver } from './drive-payment.ts';
import { createOffers } from './facilitator/offers.ts';
import { refreshSigners } from './facilitator/refresh-signers.ts';
import { createPaymentFacts } from './facts/payment-facts.ts';
import { type ChainHead, readHead } from './head/read-head.ts';
import { isHalted } from './head/store.ts';
import type { Payment, X402Payment } from './payment.ts';
import { createSecondOpinions } from './providers/ask-others.ts';
import { createWatch } from './providers/watch-providers.ts';
import { pruneAttempts } from './prune-attempts.ts';
import { createPass, createReconciler } from './reconcile.ts';
import { declineOldReviews } from './review/decline-old-reviews.ts';
import { createSettler, locateTransfer } from './settle-payment.ts';
import { findPayment } from './store.ts';
import { createPayeeCheck } from './x402/check-payee.ts';

export interface PaymentsOptions {
  reconcileEveryMs: number;
  /** How often all providers are looked at together. */
  watchEveryMs: number;
}

const SIGNERS_EVERY_MS = 60_000;
const OLD_REVIEWS_EVERY_MS = 600_000;
const PRUNE_EVERY_MS = 3_600_000;
/** For the metrics. */
const COUNT_EVERY_MS = 10_000;

/** The money core as the features see it. Made once, in create-market.ts, with what each purpose does on completion. */
export function createPayments(market: Market, completions: Completions, options: PaymentsOptions) {
  const standings = createStandings(market.providers, market.clock);
  const heads = createPasses<ChainHead>(() => readHead(market, standings));
  const watch = createWatch(market, standings, { readHead: heads.fresh, everyMs: options.watchEveryMs });
  const opinions = createSecondOpinions(market, standings, watch.look);
  const settler = createSettler(market, completions, { readHead: heads.fresh, opinions });
  const facts = createPaymentFacts(market);
  const reconcileOnce = createPass(market, settler.settleMany);
  const declineOld = (): Promise<void> => declineOldReviews(market, completions);
  const chores = [
    { name: 'signers', act: () => refreshSigners(market), everyMs: SIGNERS_EVERY_MS },
    { name: 'old_reviews', act: declineOld, everyMs: OLD_REVIEWS_EVERY_MS },
    { name: 'prune_attempts', act: () => pruneAttempts(market), everyMs: PRUNE_EVERY_MS },
    { name: 'prune_intents', act: () => pruneIntents(market), everyMs: PRUNE_EVERY_MS },
    { name: 'count_payments', act: facts.count, everyMs: COUNT_EVERY_MS },
  ];
  return {
    completions,
    payees: createPayeeCheck(market),
    offers: createOffers(market),
    /** The heads of the chain, read once for all who ask at the same time. */
    readHead: heads.fresh,
    /** Whether all providers that have a say show a receipt alike. */
    bearOut: opinions.onReceipt,
    /** Hands a proof to the facilitator, step by step; see drive-payment.ts. */
    drive: unlessHalted(market, createDriver(market, completions)),
    listingOf: (payment: Payment) => completions[payment.purpose].listingOf(market.database, payment),
    reread: (payment: Payment) => findPayment(market.database, payment.id),
    /** Reads the chain about one payment and ends it if it can. */
    settle: settler.settle,
    /** Which transfer is its own, where another payment has the proof of the transaction. */
    locate: (payment: X402Payment) =>
      locateTransfer({ market, readHead: heads.fresh, opinions, skipYoung: false }, payment),
    /** The same for transactions that came beside a claim that is decided on. */
    lookBeside: settler.lookBeside,
    reconcileOnce,
    /** Ends reviews that nobody decided on in time. */
    declineOld,
    reconciler: createReconciler(market, { pass: facts.timed(reconcileOnce), chores }, options.reconcileEveryMs),
    /** How the providers stand, and what is undecided: for metrics and `/readyz`. */
    standings,
    watch,
    held: opinions.held,
    facts,
  };
}
export type Payments = ReturnType<typeof createPayments>;

/** Nobody's money is moved while nobody can be handed anything for it. */
function unlessHalted(market: Market, drive: Driver): Driver {
  return async (payment, proof, terms) => {
    if (!(await isHalted(market.database, payment.chainId))) return await drive(payment, proof, terms);
    const detail =
      'Payments are halted, as the providers of the chain contradict each other; nothing was submitted now.';
    return payment.status === 'verifying'
      ? new Refusal('verification_pending', { detail, retryAfterSeconds: 30 })
      : null;
  };
}
