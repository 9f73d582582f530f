import type { FoundTransfer, Sighting } from '../../../../platform/chain/sighting.ts';
import type { Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import { isHalted } from '../../chain/store.ts';
import { type DirectPayment, isOpen, type Payment } from '../../payment.ts';
import { insertProof } from '../../proof-store.ts';
import { endPayment, findPayment, lockPayment, noteSighting } from '../../store.ts';
import type { PathContext } from '../payment-path.ts';
import { type ClaimDecision, type ClaimTerms, claimTermsOf, decideClaim } from './decide-claim.ts';
import type { ClaimReading } from './gather-claims.ts';
import {
  insertSurplus,
  isNamedElsewhere,
  listClaimHashes,
  markProven,
  moveHashToSurplus,
  noteSeenBlock,
  refuseHash,
} from './store.ts';

/** Decides a claim by what the chain shows about its transactions, and stores what was seen. */
export async function endClaimByEvidence(
  context: PathContext,
  payment: DirectPayment,
  reading: ClaimReading,
): Promise<Payment> {
  const { market } = context;
  const decisions = decideAll(reading, claimTermsOf(payment, null));
  for (const [txHash, decision] of decisions) {
    if (decision.outcome === 'unknown' && (decision.why === 'contradiction' || decision.why === 'wrong_chain')) {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    // Also record the block of a transaction that needs a review: while it waits, a sixth transaction must not replace it.
    await noteSeenBlock(market.database, payment.id, txHash, sightingOf(decision)?.blockNumber ?? null);
  }
  if ([...decisions.values()].some(({ outcome }) => outcome !== 'unknown')) {
    market.crashPoint('after_final_before_delivery');
    await market.database.transaction((tx) => endUnderLocks(context, tx, payment, reading));
  }
  // Until a transaction is final, the claim shows the first-named one that is in a block.
  const seen = [...decisions.values()].map(sightingOf).find((sighting) => sighting !== null) ?? null;
  if (seen !== null || (await areAllRead(market, payment, decisions))) {
    await noteSighting(market.database, payment.id, seen, new Date(market.clock.now()));
  }
  return (await findPayment(market.database, payment.id)) ?? payment;
}

/** Returns false if the reading leaves out an undecided transaction, because that transaction may still be in a block. */
async function areAllRead(
  { database }: Market,
  { id }: DirectPayment,
  decisions: ReadonlyMap<Hex, ClaimDecision>,
): Promise<boolean> {
  const claimHashes = await listClaimHashes(database, id);
  return claimHashes.every(({ txHash, isUndecided }) => !isUndecided || decisions.has(txHash));
}

function decideAll(reading: ClaimReading, terms: ClaimTerms): Map<Hex, ClaimDecision> {
  return new Map([...reading].map(([hash, evidence]) => [hash, decideClaim(evidence, terms)]));
}

function sightingOf(decision: ClaimDecision): Sighting | null {
  if (decision.outcome === 'unknown') return decision.sighting;
  return decision.outcome === 'refused' ? null : decision.transfer;
}

/** Decides again under the locks, because payer, transactions or removal may have changed since the chain was read. */
async function endUnderLocks(
  { market, completions }: PathContext,
  tx: Tx,
  payment: DirectPayment,
  reading: ClaimReading,
): Promise<void> {
  const completion = completions[payment.purpose];
  const subject = await completion.lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked?.path !== 'direct' || (await isHalted(tx, locked.chainId))) return;
  const now = new Date(market.clock.now());
  const decisions = decideAll(reading, claimTermsOf(locked, subject.removedAt));
  if (isOpen(locked)) {
    const verdict = await judgeClaim(tx, locked, decisions, now);
    if (verdict === null) return;
    if (verdict.status === 'completed') {
      await completion.complete(tx, locked, { transfer: verdict.transfer, payerCollectsOnly: false, subject });
    } else {
      await completion.endUncompleted(tx, locked);
    }
    const logIndex = verdict.transfer?.logIndex ?? null;
    await endPayment(tx, locked.id, { ...verdict, logIndex, payerCollectsOnly: false }, now);
  }
  await recordSurplus(tx, locked, decisions, now);
}

type Verdict =
  | { status: 'completed'; reason: null; transfer: FoundTransfer }
  | { status: 'needs_review'; reason: string; transfer: FoundTransfer }
  | { status: 'unpaid'; reason: string; transfer: null };

/**
 * Picks the first matching transaction, in the order in which they were named. A transaction that needs a review waits for the undecided
 * ones, because one of them may match. Returns null while the claim stays open.
 */
async function judgeClaim(
  tx: Tx,
  payment: DirectPayment,
  decisions: ReadonlyMap<Hex, ClaimDecision>,
  now: Date,
): Promise<Verdict | null> {
  const proveBy = async (transfer: FoundTransfer): Promise<boolean> => {
    if (!(await insertProof(tx, payment, { purpose: payment.purpose, transfer, now }))) return false;
    await markProven(tx, payment.id, transfer.txHash);
    return true;
  };
  let hasUndecided = false;
  let refusedReason = 'transfer_not_found';
  const toReview: Extract<ClaimDecision, { outcome: 'review' }>[] = [];
  for (const { txHash, isUndecided } of await listClaimHashes(tx, payment.id)) {
    if (!isUndecided) continue;
    const decision = decisions.get(txHash);
    if (decision === undefined || decision.outcome === 'unknown') hasUndecided = true;
    else if (decision.outcome === 'review') toReview.push(decision);
    else if (decision.outcome === 'settled' && (await proveBy(decision.transfer))) {
      return { status: 'completed', reason: null, transfer: decision.transfer };
    } else {
      refusedReason = decision.outcome === 'settled' ? 'transaction_used' : decision.reason;
      await refuseHash(tx, payment.id, txHash, refusedReason);
    }
  }
  if (hasUndecided) return null;
  // Review first a transfer that the payee can deliver for without a loss. The others become surplus payments.
  const sufficientFirst = toReview.toSorted((a, b) => Number(isTooLittle(a)) - Number(isTooLittle(b)));
  for (const { reason, transfer } of sufficientFirst) {
    if (await proveBy(transfer)) return { status: 'needs_review', reason, transfer };
    refusedReason = 'transaction_used';
    await refuseHash(tx, payment.id, transfer.txHash, refusedReason);
  }
  return { status: 'unpaid', reason: refusedReason, transfer: null };
}

function isTooLittle({ reason }: Extract<ClaimDecision, { outcome: 'review' }>): boolean {
  return reason === 'amount_too_little';
}

type Received = Extract<ClaimDecision, { outcome: 'settled' | 'review' }>;

/**
 * Handles the remaining transactions of a decided claim. Each final transfer from its wallet to the payee becomes a separate payment in
 * review, so that the payee can refund it. Call with the claim locked.
 */
async function recordSurplus(
  tx: Tx,
  claim: DirectPayment,
  decisions: ReadonlyMap<Hex, ClaimDecision>,
  now: Date,
): Promise<void> {
  for (const { txHash, isUndecided } of await listClaimHashes(tx, claim.id)) {
    const decision = decisions.get(txHash);
    if (!isUndecided || decision === undefined || decision.outcome === 'unknown') continue;
    if (decision.outcome === 'refused') await refuseHash(tx, claim.id, txHash, decision.reason);
    else if (await isNamedElsewhere(tx, claim, txHash)) continue;
    else if (!(await openSurplusReview(tx, claim, decision, now)))
      await refuseHash(tx, claim.id, txHash, 'transaction_used');
  }
}

class AlreadyProven extends Error {}

/** Returns false if the transaction already proves something else. */
async function openSurplusReview(tx: Tx, claim: DirectPayment, decision: Received, now: Date): Promise<boolean> {
  const { transfer } = decision;
  // A matching second transfer arrives when the goods are already bought.
  const reason = decision.outcome === 'review' ? decision.reason : 'already_bought';
  try {
    await tx.savepoint(async () => {
      const { id, purpose } = await insertSurplus(tx, claim.id, now);
      if (!(await insertProof(tx, { id }, { purpose, transfer, now }))) throw new AlreadyProven();
      const { logIndex } = transfer;
      await endPayment(tx, id, { status: 'needs_review', reason, transfer, logIndex, payerCollectsOnly: false }, now);
      await moveHashToSurplus(tx, claim.id, id, transfer.txHash);
    });
    return true;
  } catch (error) {
    if (error instanceof AlreadyProven) return false;
    throw error;
  }
}
