import { createProviderHealth } from '../../platform/chain/provider-health.ts';
import type { Market } from '../context.ts';
import { createAdvance } from './advance-payment.ts';
import type { Completions } from './completion.ts';
import { createPaymentFacts } from './facts/payment-facts.ts';
import { followHeads } from './head/follow-heads.ts';
import { type ChainHead, readHead } from './head/read-head.ts';
import { createWhenToLook } from './head/when-to-look.ts';
import { pruneIntents } from './paths/direct/prune-intents.ts';
import { pathOf } from './paths/payment-paths.ts';
import { createPayeeCheck } from './paths/x402/check-payee.ts';
import { createOffers } from './paths/x402/offers.ts';
import { createSignerRefresh, refreshSigners } from './paths/x402/refresh-signers.ts';
import type { Payment } from './payment.ts';
import { createCorroboration } from './providers/corroborate.ts';
import { createWatch } from './providers/watch-providers.ts';
import { pruneAttempts } from './prune-attempts.ts';
import { type Chore, createPass, createReconciler } from './reconcile.ts';
import { declineOldReviews } from './review/decline-old-reviews.ts';
import { createSettler } from './settle-payment.ts';
import { findPayment } from './store.ts';

export interface PaymentsOptions {
  reconcileEveryMs: number;
  /** How often all providers are looked at together. */
  watchEveryMs: number;
  /** See head/when-to-look.ts. */
  longestPauseMs: number;
}

const SIGNERS_EVERY_MS = 60_000;
const OLD_REVIEWS_EVERY_MS = 600_000;
const PRUNE_EVERY_MS = 3_600_000;
/** For the metrics. */
const COUNT_EVERY_MS = 10_000;

/** The money core as the features see it. Made once, in create-market.ts, with what each purpose does on completion. */
export function createPayments(market: Market, completions: Completions, options: PaymentsOptions) {
  const providerHealth = createProviderHealth(market.providers, market.clock);
  let lastRead: { head: ChainHead; at: number } | null = null;
  const whenToLook = createWhenToLook({
    ...{ database: market.database, clock: market.clock },
    blockSeconds: market.config.network.blockSeconds,
    chainId: market.config.network.chainId,
    longestPauseMs: options.longestPauseMs,
  });
  const heads = followHeads(market, async (askAlso) => {
    const head = await readHead(market, providerHealth, askAlso);
    whenToLook.noteHead(head);
    lastRead = { head, at: market.clock.now() };
    return head;
  });
  const watch = createWatch(market, providerHealth, {
    ...{ readHead: heads.fresh, everyMs: options.watchEveryMs },
    lastRead: () => lastRead,
    isLeader: () => reconciler.isLeader(),
  });
  const corroboration = createCorroboration(market, providerHealth, watch.look);
  const context = { market, completions, corroboration, refreshSigners: createSignerRefresh(market) };
  const settler = createSettler(context, { readHead: heads.fresh, isFarFromFinal: whenToLook.isFarFromFinal });
  const facts = createPaymentFacts(market);
  const reconcileOnce = createPass(market, settler.settleMany, heads.fresh);
  const timedPass = facts.timed(reconcileOnce);
  const passIfDue = async (): Promise<void> => ((await whenToLook.isDue()) ? await timedPass() : undefined);
  const passIfOverdue = async (): Promise<void> => ((await whenToLook.isOverdue()) ? await timedPass() : undefined);
  const declineOld = (): Promise<void> => declineOldReviews(market, completions);
  const chores = choresOf(market, { declineOld, count: facts.count });
  const reconciler = createReconciler(
    market,
    { pass: passIfDue, standIn: passIfOverdue, chores },
    options.reconcileEveryMs,
  );
  return {
    completions,
    payees: createPayeeCheck(market),
    offers: createOffers(market),
    /** The heads of the chain, read once for all who ask at the same time. */
    readHead: heads.fresh,
    /** Whether all providers that have a say show a receipt alike. */
    corroborate: corroboration.onReceipt,
    /** Hands on a proof and reads the chain; see advance-payment.ts. */
    advance: createAdvance(context, settler.settle),
    listingOf: (payment: Payment) => completions[payment.purpose].listingOf(market.database, payment),
    reread: (payment: Payment) => findPayment(market.database, payment.id),
    /** Reads the chain about one payment and ends it if it can. */
    settle: settler.settle,
    /** Which transfer is its own, where another payment has the proof of the transaction. */
    locate: async (payment: Payment) => pathOf(payment).locate(context, await heads.fresh(), payment),
    /** The same for further transactions of a claim that is already decided. */
    readSurplus: settler.readSurplus,
    reconcileOnce,
    /** Ends reviews that were not decided in time. */
    declineOld,
    reconciler,
    /** How the providers stand, and what is undecided: for metrics and `/readyz`. */
    providerHealth,
    watch,
    held: corroboration.held,
    facts,
  };
}
export type Payments = ReturnType<typeof createPayments>;

function choresOf(market: Market, given: { declineOld(): Promise<void>; count(): Promise<void> }): Chore[] {
  return [
    { name: 'signers', act: () => refreshSigners(market), everyMs: SIGNERS_EVERY_MS },
    { name: 'old_reviews', act: given.declineOld, everyMs: OLD_REVIEWS_EVERY_MS },
    { name: 'prune_attempts', act: () => pruneAttempts(market), everyMs: PRUNE_EVERY_MS },
    { name: 'prune_intents', act: () => pruneIntents(market), everyMs: PRUNE_EVERY_MS },
    { name: 'count_payments', act: given.count, everyMs: COUNT_EVERY_MS },
  ];
}
