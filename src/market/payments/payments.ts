import { REVIEW_DAYS } from '../../contract/vocabulary.ts';
import { createProviderHealth } from '../../platform/chain/providers.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { createCorroboration } from './chain/corroborate.ts';
import { type ChainHead, followHeads, readHead } from './chain/read-head.ts';
import { createReadSchedule } from './chain/read-schedule.ts';
import { createUnreadablePayments } from './chain/unreadable-payments.ts';
import { createChainWatch } from './chain/watch-providers.ts';
import type { Completions } from './completion.ts';
import { createFurtherTransfers } from './paths/direct/further-transfers.ts';
import { pruneIntents } from './paths/direct/intents.ts';
import { listUnprovenSince, type UnprovenClaim, viewOfUnproven } from './paths/direct/unproven-store.ts';
import type { DriveResult, PathContext } from './paths/payment-path.ts';
import { pathOf } from './paths/payment-paths.ts';
import { createSignerRefresh, createX402Gate, refreshSigners } from './paths/x402/facilitator.ts';
import { isOpen, type Payment, type ReviewOutcome } from './payment.ts';
import { createPayeeCheck } from './payment-guards.ts';
import { createDecider } from './read-and-decide.ts';
import { createReconcileRound, createReconciler, type PeriodicTask } from './reconcile.ts';
import { decideUnproven } from './review-unproven.ts';
import {
  countOpenPayments,
  countReviews,
  deleteEndedAttempts,
  endReview,
  findPayment,
  listReviewsSince,
  lockPayment,
  type OpenPayments,
} from './store.ts';
import type { Proof, Terms } from './terms.ts';

export interface PaymentsOptions {
  reconcileEveryMs: number;
  watchEveryMs: number;
  /** Maximum pause between two readings of the chain; see chain/read-schedule.ts. */
  longestPauseMs: number;
}

const SIGNERS_EVERY_MS = 60_000;
const OLD_REVIEWS_EVERY_MS = 600_000;
const PRUNE_EVERY_MS = 3_600_000;
const COUNT_EVERY_MS = 10_000;
const FURTHER_EVERY_MS = 30_000;

/** Creates the money core for the other features. Called once, in create-market.ts, with the completion of each purpose. */
export function createPayments(market: Market, completions: Completions, options: PaymentsOptions) {
  const providerHealth = createProviderHealth(market.providers, market.clock);
  let lastRead: { head: ChainHead; at: number } | null = null;
  const readSchedule = createReadSchedule({
    ...{ database: market.database, clock: market.clock },
    blockSeconds: market.config.network.blockSeconds,
    chainId: market.config.network.chainId,
    longestPauseMs: options.longestPauseMs,
  });
  const heads = followHeads(market, async (askAlso) => {
    const head = await readHead(market, providerHealth, askAlso);
    readSchedule.noteHead(head);
    lastRead = { head, at: market.clock.now() };
    return head;
  });
  const watch = createChainWatch(market, providerHealth, {
    ...{ readHead: heads.fresh, everyMs: options.watchEveryMs },
    lastRead: () => lastRead,
    isLeader: () => reconciler.isLeader(),
  });
  const corroboration = createCorroboration(market, providerHealth, watch.check);
  const context = { market, completions, corroboration, refreshSigners: createSignerRefresh(market) };
  const unreadable = createUnreadablePayments(market.clock, providerHealth);
  const { isFarFromFinal } = readSchedule;
  const decider = createDecider(context, { readHead: heads.fresh, isFarFromFinal, noteReading: unreadable.note });
  const facts = createPaymentFacts(market);
  const reconcileOnce = createReconcileRound(market, decider.readAndDecideMany, heads.fresh);
  const timedRound = facts.timed(reconcileOnce);
  const runIfDue = async (): Promise<void> => ((await readSchedule.isDue()) ? await timedRound() : undefined);
  const runIfOverdue = async (): Promise<void> => ((await readSchedule.isOverdue()) ? await timedRound() : undefined);
  const declineOld = (): Promise<void> => declineOldReviews(market, completions);
  const further = createFurtherTransfers(market, heads.fresh);
  const chores = choresOf(market, { declineOld, count: facts.count, readFurther: further.readAll });
  const reconciler = createReconciler(
    market,
    { pass: runIfDue, followerRound: runIfOverdue, chores },
    options.reconcileEveryMs,
  );
  return {
    completions,
    payees: createPayeeCheck(market),
    x402Gate: createX402Gate(market),
    readHead: heads.fresh,
    /** Whether no other provider that counts objects to the receipt. */
    corroborate: corroboration.onReceipt,
    /** Submits the proof if it may, then reads the chain and decides; see `drive` in payment-path.ts, and read-and-decide.ts. */
    advance: createAdvance(context, decider.readAndDecide),
    listingOf: (payment: Payment) => completions[payment.purpose].listingOf(market.database, payment),
    reread: (payment: Payment) => findPayment(market.database, payment.id),
    readAndDecide: decider.readAndDecide,
    /** Finds the payment's own transfer when another payment has the proof of the transaction. */
    locate: async (payment: Payment) => pathOf(payment).locate(context, await heads.fresh(), payment),
    readSurplus: decider.readSurplus,
    further,
    reconcileOnce,
    declineOld,
    reconciler,
    providerHealth,
    watch,
    withheld: corroboration.withheld,
    unreadable,
    facts,
  };
}
export type Payments = ReturnType<typeof createPayments>;

function choresOf(
  market: Market,
  jobs: { declineOld(): Promise<void>; count(): Promise<void>; readFurther(): Promise<void> },
): PeriodicTask[] {
  return [
    { name: 'signers', act: () => refreshSigners(market), everyMs: SIGNERS_EVERY_MS },
    { name: 'old_reviews', act: jobs.declineOld, everyMs: OLD_REVIEWS_EVERY_MS },
    { name: 'prune_attempts', act: () => pruneAttempts(market), everyMs: PRUNE_EVERY_MS },
    { name: 'prune_intents', act: () => pruneIntents(market), everyMs: PRUNE_EVERY_MS },
    { name: 'count_payments', act: jobs.count, everyMs: COUNT_EVERY_MS },
    { name: 'further_transfers', act: jobs.readFurther, everyMs: FURTHER_EVERY_MS },
  ];
}

/** The trigger requires thirty days by the database's clock; one more day allows for clock skew. */
const ATTEMPT_RETENTION_MS = 31 * 86_400_000;
const BATCH = 500;

/** Deletes attempts that were never submitted, in small batches, so that no purchase waits for the deletion. */
export async function pruneAttempts({ database, clock }: Pick<Market, 'database' | 'clock'>): Promise<number> {
  const before = new Date(clock.now() - ATTEMPT_RETENTION_MS);
  let count = 0;
  for (;;) {
    const deleted = await deleteEndedAttempts(database, before, BATCH);
    count += deleted;
    if (deleted < BATCH) return count;
  }
}

const DAY_MS = 86_400_000;
const AT_ONCE = 50;

/** Declines reviews that were not decided in time, publicly and as `system`, so that no payer waits forever. */
export async function declineOldReviews(market: Market, completions: Completions): Promise<void> {
  const now = new Date(market.clock.now());
  const before = new Date(now.getTime() - REVIEW_DAYS * DAY_MS);
  for (const payment of await listReviewsSince(market.database, before, AT_ONCE)) {
    try {
      await market.database.transaction((tx) => declineReview(tx, market, { completions, payment, now }));
    } catch (error) {
      // One failure must not hold up the others.
      market.log.error('review_end_failed', { payment_id: payment.id, error });
    }
  }
  for (const claim of await listUnprovenSince(market.database, before, AT_ONCE)) {
    try {
      await market.database.transaction((tx) => declineUnproven(tx, market, completions, claim));
    } catch (error) {
      // It has just been decided, so there is nothing left to end.
      if (error instanceof Refusal && error.reason === 'already_decided') continue;
      market.log.error('review_end_failed', { payment_id: claim.id, error });
    }
  }
}

async function declineUnproven(tx: Tx, market: Market, completions: Completions, claim: UnprovenClaim): Promise<void> {
  const payment = viewOfUnproven(claim);
  await completions[claim.purpose].lockSubject(tx, payment);
  await decideUnproven(tx, market, { id: claim.id, outcome: 'declined', by: null, note: null });
  await recordReview(tx, market, payment, { outcome: 'declined', actor: 'system' });
}

async function declineReview(
  tx: Tx,
  market: Market,
  { completions, payment, now }: { completions: Completions; payment: Payment; now: Date },
): Promise<void> {
  await completions[payment.purpose].lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked?.status !== 'needs_review') return;
  await endReview(tx, locked.id, { outcome: 'declined', by: null, note: null, logIndex: null, now });
  await recordReview(tx, market, locked, { outcome: 'declined', actor: 'system' });
}

/** Figures about payments. Only the leader reports them, because every process would report the same ones. */
interface PaymentFacts {
  open: readonly OpenPayments[];
  reviews: number;
  /** Duration and end of the last complete round over all open payments, in milliseconds. Null before the first. */
  pass: { tookMs: number; endedAt: number } | null;
}

interface PaymentFactsKeeper {
  count(): Promise<void>;
  timed(pass: () => Promise<void>): () => Promise<void>;
  /** Null before the first count. */
  facts(): PaymentFacts | null;
}

function createPaymentFacts({ database, clock }: Pick<Market, 'database' | 'clock'>): PaymentFactsKeeper {
  let counted: Omit<PaymentFacts, 'pass'> | null = null;
  let last: PaymentFacts['pass'] = null;
  return {
    count: async () => {
      counted = { open: await countOpenPayments(database), reviews: await countReviews(database) };
    },
    timed: (pass) => async () => {
      const startedAt = clock.now();
      await pass();
      const endedAt = clock.now();
      last = { tookMs: endedAt - startedAt, endedAt };
    },
    facts: () => counted && { ...counted, pass: last },
  };
}

/** Submits the proof if it is the payment's own, then reads the chain and decides. Any other proof changes nothing. */
function createAdvance(context: PathContext, readAndDecide: (payment: Payment) => Promise<Payment>) {
  const drive = createDriver(context);

  return async function advance(payment: Payment, proof: Proof | null, terms: Terms): Promise<DriveResult> {
    let { current, refusal }: DriveResult = { current: payment, refusal: null };
    for (;;) {
      // A payment that is in a block has already been submitted, so do not submit it again.
      const isDriven = proof !== null && current.blockNumber === null;
      if (isDriven && (await pathOf(current).mayDrive(context, current, proof))) {
        ({ current, refusal } = await drive(current, proof, terms));
      }
      current = await readAndDecide(current);
      // A reorganisation removed the payment's block, so submit the proof once more.
      const lostItsBlock = proof !== null && !isDriven && isOpen(current) && current.blockNumber === null;
      if (!lostItsBlock) return { current, refusal };
    }
  };
}

/** Runs one driver per payment across all processes. Other calls wait for a driver in this process, else return the stored row. */
function createDriver(context: PathContext) {
  const { database } = context.market;
  const runningDrives = new Map<bigint, Promise<DriveResult>>();

  return async function drive(payment: Payment, proof: Proof, terms: Terms): Promise<DriveResult> {
    const running = runningDrives.get(payment.id);
    if (running) return await running;
    const run = database
      .withAdvisoryLock(`payment:${payment.id}`, () => pathOf(payment).drive(context, payment, proof, terms))
      .then(async (locked): Promise<DriveResult> => {
        return locked?.value ?? { current: (await findPayment(database, payment.id)) ?? payment, refusal: null };
      });
    runningDrives.set(payment.id, run);
    try {
      return await run;
    } finally {
      runningDrives.delete(payment.id);
    }
  };
}

/** Publishes the decision on a review: as the seller's own or, if the maintainer decided on a fee, as moderation. */
export async function recordReview(
  tx: Tx,
  market: Market,
  payment: Payment,
  { outcome, actor }: { outcome: ReviewOutcome; actor: string },
): Promise<void> {
  const isByMaintainer = payment.purpose === 'listing_fee' && actor !== 'system';
  await recordEvent(tx, market, {
    kind: isByMaintainer ? 'moderation' : 'review',
    actor,
    detail: {
      ...(isByMaintainer ? { action: 'fee_review' } : {}),
      payment_id: Number(payment.id),
      ...(payment.listingId === null ? {} : { listing_id: Number(payment.listingId) }),
      outcome,
    },
  });
}
