import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { hasBought } from './paths/direct/store.ts';
import {
  endUnproven,
  endUnprovenOf,
  findUnproven,
  insertFromUnproven,
  isTransactionClaimed,
  lockOpenUnproven,
  lockTransfer,
  type UnprovenClaim,
} from './paths/direct/unproven-store.ts';
import type { Payment, ReviewOutcome } from './payment.ts';
import { insertProof } from './proof-store.ts';
import { endPayment } from './store.ts';

export interface UnprovenDecision {
  id: bigint;
  outcome: ReviewOutcome;
  /** Null if the review timed out. */
  by: bigint | null;
  note: string | null;
}

/**
 * Ends an unsigned claim as its payee decides. If delivered or refunded, returns it as a payment in review with the proof of its transfer,
 * for the caller to finish, and ends all other claims of the transfer. If declined, returns null, and the transfer may still pay for
 * another claim. Call with the claim's subject locked. Throws if the claim was already decided.
 */
export async function decideUnproven(tx: Tx, market: Market, decision: UnprovenDecision): Promise<Payment | null> {
  const found = await findUnproven(tx, { id: decision.id });
  if (found === null) throw new Refusal('already_decided');
  const { txHash } = found.transfer;
  await lockTransfer(tx, txHash);
  const claim = await lockOpenUnproven(tx, decision.id);
  if (claim === null) throw new Refusal('already_decided');
  const now = new Date(market.clock.now());
  if (decision.outcome !== 'declined' && (await isTransactionClaimed(tx, { txHash, payer: claim.payer }))) {
    throw new Refusal('not_deliverable', {
      detail: 'The wallet has signed for that transfer, so this claim is not the one that it belongs to.',
      nextStep: 'Decide on declined here. The claim that the wallet signed is delivered or reviewed by itself.',
    });
  }
  await endUnproven(tx, claim.id, { ...decision, now });
  if (decision.outcome === 'declined') return null;
  const payment = await convertToPayment(tx, claim, decision.outcome, now);
  await endUnprovenOf(tx, { txHash, payer: claim.payer, payee: claim.payee }, 'superseded', now);
  return payment;
}

async function convertToPayment(tx: Tx, claim: UnprovenClaim, outcome: ReviewOutcome, now: Date): Promise<Payment> {
  const { listingId, merchantId, payer, transfer } = claim;
  // A refunded payment must not block one that may be under way by now, so it is stored as surplus.
  const surplus =
    outcome === 'refunded' || (listingId !== null && (await hasBought(tx, listingId, { merchantId, payer })));
  const made = await insertFromUnproven(tx, claim, { surplus, now });
  if (made === null || !(await insertProof(tx, made, { purpose: made.purpose, transfer, now }))) {
    throw new Refusal('not_deliverable', {
      detail: 'Another payment for the same is under way or made, by this merchant or with this transfer.',
      nextStep: 'Wait until that is decided, or decide on declined.',
    });
  }
  const end = { status: 'needs_review', reason: 'payer_unproven', transfer, payerCollectsOnly: false } as const;
  return await endPayment(tx, made.id, { ...end, logIndex: transfer.logIndex }, now);
}
