import type { Sighting } from '../../../../platform/chain/sighting.ts';
import type { Tx } from '../../../../platform/database/database.ts';
import type { Market } from '../../../context.ts';
import { isHalted } from '../../chain/store.ts';
import type { SettledTransfer } from '../../completion.ts';
import { isOpen, type Payment, type X402Payment } from '../../payment.ts';
import { insertProof, isTransferTaken } from '../../proof-store.ts';
import { endPayment, findPayment, lockPayment, noteSighting } from '../../store.ts';
import type { PathContext } from '../payment-path.ts';
import { attemptTermsOf, type Decision, decide, type Evidence, type UnknownWhy } from './decide.ts';
import { findSigner } from './store.ts';

/** How long a payment may wait for a silent facilitator to say whether the sender is one of its signers. */
const SIGNER_PATIENCE_MS = 60 * 60_000;

export async function endPaymentByEvidence(
  context: PathContext,
  payment: X402Payment,
  evidence: Evidence,
): Promise<Payment> {
  const { market } = context;
  const now = new Date(market.clock.now());
  const decision = decide(evidence, attemptTermsOf(payment, null));
  if (decision.outcome === 'unknown') {
    if (decision.why === 'use_without_transfer') context.corroboration.withheld.note(payment.id, null, decision.why);
    if (isAlarming(decision.why)) {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    return await noteSeen(market, payment, decision.sighting, now);
  }
  let fromStranger: boolean | null = false;
  if (decision.outcome === 'settled') {
    market.crashPoint('after_final_before_delivery');
    fromStranger = await isFromStranger(context, payment, decision.transfer);
    if (fromStranger === null) return await noteSeen(market, payment, decision.transfer, now);
  }
  return await market.database.transaction((tx) =>
    endUnderLocks(context, tx, { payment, evidence, payerCollectsOnly: fromStranger === true }),
  );
}

/** Writes nothing if the payment already has this sighting. */
async function noteSeen(market: Market, payment: Payment, sighting: Sighting | null, now: Date): Promise<Payment> {
  const isNoted =
    payment.txHash === (sighting?.txHash ?? null) && payment.blockNumber === (sighting?.blockNumber ?? null);
  if (isNoted) return payment;
  const noted = await noteSighting(market.database, payment.id, sighting, now);
  return noted ?? (await findPayment(market.database, payment.id)) ?? payment;
}

function isAlarming(why: UnknownWhy): boolean {
  return why === 'contradiction' || why === 'wrong_chain' || why === 'use_without_transfer';
}

/** Decides again under the locks, because status and removal may have changed since the chain was read. */
async function endUnderLocks(
  { market, completions }: PathContext,
  tx: Tx,
  { payment, evidence, payerCollectsOnly }: { payment: X402Payment; evidence: Evidence; payerCollectsOnly: boolean },
): Promise<Payment> {
  const completion = completions[payment.purpose];
  const subject = await completion.lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked?.path !== 'x402' || !isOpen(locked) || (await isHalted(tx, locked.chainId))) return locked ?? payment;
  const decision = decide(evidence, attemptTermsOf(locked, subject.removedAt));
  const now = new Date(market.clock.now());
  const outcome = await outcomeOf(tx, locked, decision, now);
  if (outcome === null) return locked;
  if (outcome.status === 'completed') {
    await completion.complete(tx, locked, { transfer: outcome.transfer, payerCollectsOnly, subject });
  } else {
    await completion.endUncompleted(tx, locked);
  }
  return await endPayment(tx, locked.id, { ...outcome, payerCollectsOnly }, now);
}

type Outcome =
  | { status: 'completed'; reason: null; transfer: SettledTransfer; logIndex: number }
  | { status: 'needs_review'; reason: string; transfer: SettledTransfer; logIndex: number | null }
  | { status: 'unpaid'; reason: string; transfer: null; logIndex: null };

async function outcomeOf(tx: Tx, payment: Payment, decision: Decision, now: Date): Promise<Outcome | null> {
  if (decision.outcome === 'unknown') return null;
  if (decision.outcome === 'refused')
    return { status: 'unpaid', reason: decision.reason, transfer: null, logIndex: null };
  const { transfer } = decision;
  const { logIndex } = transfer;
  // A facilitator that batches can put two payments into one transaction. The transaction proves the first one, and a person decides on the
  // second.
  const isFirst = await insertProof(tx, payment, { purpose: payment.purpose, transfer, now });
  if (!isFirst) {
    // Do not show the payee the same money twice.
    const ownLogIndex = (await isTransferTaken(tx, transfer)) ? null : logIndex;
    return { status: 'needs_review', reason: 'transaction_used', transfer, logIndex: ownLogIndex };
  }
  if (decision.outcome === 'review') return { status: 'needs_review', reason: decision.reason, transfer, logIndex };
  return { status: 'completed', reason: null, transfer, logIndex };
}

/**
 * Whether none of the signers that the facilitator names sent this transaction. False if it names no signers. Refreshes the list before it
 * calls a sender a stranger, because the facilitator may use a new address. If the facilitator does not answer, returns null for up to
 * SIGNER_PATIENCE_MS, while the payment waits, and true afterwards.
 */
async function isFromStranger(
  { market, refreshSigners }: PathContext,
  payment: X402Payment,
  transfer: SettledTransfer,
): Promise<boolean | null> {
  const { database, config, clock } = market;
  const { chainId, signersReadAt: since } = payment;
  const signer = { chainId, url: config.facilitatorUrl, address: transfer.sender, since };
  const findSender = () => findSigner(database, signer);
  const sender = await findSender();
  if (sender.isNamed || !sender.namesAny) return false;
  const refreshed = await refreshSigners();
  if ((await findSender()).isNamed) return false;
  const waited = clock.now() - Number(transfer.blockTime) * 1000;
  return refreshed || waited > SIGNER_PATIENCE_MS ? true : null;
}
