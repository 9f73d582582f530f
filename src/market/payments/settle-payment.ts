import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import type { Completions, SettledTransfer } from './completion.ts';
import { type Decision, decide, type Evidence } from './decide.ts';
import { refreshSigners } from './facilitator/refresh-signers.ts';
import { findSigner } from './facilitator/store.ts';
import { gatherEvidence } from './gather-evidence.ts';
import {
  attemptTermsOf,
  endPayment,
  findPayment,
  insertProof,
  isOpen,
  lockPayment,
  noteSighting,
  type Payment,
} from './store.ts';

/** How long before an attempt a signer may have been seen last and still count as one at its opening. */
const SIGNER_GRACE_MS = 5 * 60_000;

/** Reads the chain about one open payment and moves it as far as that allows. An unreadable chain changes nothing. */
export async function settlePayment(market: Market, completions: Completions, payment: Payment): Promise<Payment> {
  if (!isOpen(payment)) return payment;
  const gathered = await readOrNothing(market, [payment]);
  const evidence = gathered.get(payment.id);
  if (evidence) await applyEvidence(market, completions, payment, evidence);
  return (await findPayment(market.database, payment.id)) ?? payment;
}

/** The same for many payments of one asset, with one reading of the chain. */
export async function settlePayments(
  market: Market,
  completions: Completions,
  payments: readonly Payment[],
): Promise<void> {
  const gathered = await readOrNothing(market, payments);
  for (const payment of payments) {
    const evidence = gathered.get(payment.id);
    if (evidence === undefined) continue;
    try {
      await applyEvidence(market, completions, payment, evidence);
    } catch (error) {
      // One payment that cannot be ended must not keep the others waiting; it is looked at again in the next pass.
      market.log.error('payment_not_ended', { payment_id: payment.id, error });
    }
  }
}

async function readOrNothing(market: Market, payments: readonly Payment[]): Promise<Map<bigint, Evidence>> {
  try {
    return await gatherEvidence(market, payments);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable', { error });
    return new Map();
  }
}

async function applyEvidence(
  market: Market,
  completions: Completions,
  payment: Payment,
  evidence: Evidence,
): Promise<void> {
  const decision = decide(evidence, attemptTermsOf(payment, null));
  if (decision.outcome === 'unknown') {
    if (decision.why === 'contradiction' || decision.why === 'wrong_chain') {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    await noteSighting(market.database, payment.id, decision.sighting, new Date(market.clock.now()));
    return;
  }
  let payerCollectsOnly = false;
  if (decision.outcome === 'settled') {
    market.crashPoint('after_final_before_delivery');
    payerCollectsOnly = await isFromStranger(market, payment, decision.transfer);
  }
  await market.database.transaction((tx) => end(market, completions, tx, payment, evidence, payerCollectsOnly));
}

/** Decided once more under the locks: status and removal may have changed since the chain was read. */
async function end(
  market: Market,
  completions: Completions,
  tx: Tx,
  payment: Payment,
  evidence: Evidence,
  payerCollectsOnly: boolean,
): Promise<void> {
  const completion = completions[payment.purpose];
  const { removedAt } = await completion.lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked === null || !isOpen(locked)) return;
  const decision = decide(evidence, attemptTermsOf(locked, removedAt));
  const now = new Date(market.clock.now());
  const outcome = await outcomeOf(tx, locked, decision, now);
  if (outcome === null) return;
  if (outcome.status === 'completed') await completion.complete(tx, locked, outcome.transfer, payerCollectsOnly);
  else await completion.endUncompleted(tx, locked);
  await endPayment(tx, locked.id, { ...outcome, payerCollectsOnly }, now);
}

type Outcome =
  | { status: 'completed'; reason: null; transfer: SettledTransfer }
  | { status: 'needs_review'; reason: string; transfer: SettledTransfer }
  | { status: 'unpaid'; reason: string; transfer: null };

async function outcomeOf(tx: Tx, payment: Payment, decision: Decision, now: Date): Promise<Outcome | null> {
  if (decision.outcome === 'unknown') return null;
  if (decision.outcome === 'refused') return { status: 'unpaid', reason: decision.reason, transfer: null };
  const { transfer } = decision;
  // A facilitator that batches can put two payments into one transaction: it proves the first, a person decides on the second.
  const isFirst = await insertProof(tx, payment, transfer, now);
  if (!isFirst) return { status: 'needs_review', reason: 'transaction_used', transfer };
  if (decision.outcome === 'review') return { status: 'needs_review', reason: decision.reason, transfer };
  return { status: 'completed', reason: null, transfer };
}

/**
 * True when the facilitator publishes its signers and none of them sent this transaction. The facilitator is asked again before
 * a sender counts as a stranger, since it may have begun to use a new address.
 */
async function isFromStranger(market: Market, payment: Payment, transfer: SettledTransfer): Promise<boolean> {
  const since = new Date(payment.createdAt.getTime() - SIGNER_GRACE_MS);
  const look = () => findSigner(market.database, payment.chainId, transfer.sender, since);
  const known = await look();
  if (known.isSigner || !known.anyPublished) return false;
  await refreshSigners(market);
  return !(await look()).isSigner;
}
