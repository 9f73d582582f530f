import { isStillFinal, type Sighting } from '../../../platform/chain/sighting.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Market } from '../../context.ts';
import type { Corroboration } from '../chain/corroborate.ts';
import type { ChainHead } from '../chain/read-head.ts';
import { isHalted } from '../chain/store.ts';
import type { SettledTransfer } from '../completion.ts';
import { type DirectPayment, isOpen, type Payment, type X402Payment } from '../payment.ts';
import { insertProof, isTransferTaken } from '../proof-store.ts';
import { endPayment, findPayment, lockPayment, noteSighting } from '../store.ts';
import { type ClaimReading, gatherClaims } from './direct/gather-claims.ts';
import { settleClaim } from './direct/settle-claim.ts';
import { insertClaim, type NewClaim } from './direct/store.ts';
import type { PathContext, PaymentPath } from './payment-path.ts';
import { attemptTermsOf, type Decision, decide, type Evidence, type UnknownWhy } from './x402/decide.ts';
import { drive, mayDrive } from './x402/drive-payment.ts';
import { readFindings } from './x402/read-findings.ts';
import { type Attempt, findSigner, openAttempt } from './x402/store.ts';

/** How long a payment may wait for a silent facilitator to say whether the sender is one of its signers. */
const SIGNER_PATIENCE_MS = 60 * 60_000;

/** Ends the payment if the evidence says so, or notes what is seen. */
async function endByEvidence(context: PathContext, payment: X402Payment, evidence: Evidence): Promise<Payment> {
  const { market } = context;
  const now = new Date(market.clock.now());
  const decision = decide(evidence, attemptTermsOf(payment, null));
  if (decision.outcome === 'unknown') {
    if (decision.why === 'use_without_transfer') context.corroboration.held.note(payment.id, null, decision.why);
    if (isAlarming(decision.why)) {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    return await note(market, payment, decision.sighting, now);
  }
  let fromStranger: boolean | null = false;
  if (decision.outcome === 'settled') {
    market.crashPoint('after_final_before_delivery');
    fromStranger = await isFromStranger(context, payment, decision.transfer);
    if (fromStranger === null) return await note(market, payment, decision.transfer, now);
  }
  return await market.database.transaction((tx) => end(context, tx, payment, evidence, fromStranger === true));
}

/** Nothing is written where the payment shows it already. */
async function note(market: Market, payment: Payment, sighting: Sighting | null, now: Date): Promise<Payment> {
  const isNoted =
    payment.txHash === (sighting?.txHash ?? null) && payment.blockNumber === (sighting?.blockNumber ?? null);
  if (isNoted) return payment;
  const noted = await noteSighting(market.database, payment.id, sighting, now);
  return noted ?? (await findPayment(market.database, payment.id)) ?? payment;
}

function isAlarming(why: UnknownWhy): boolean {
  return why === 'contradiction' || why === 'wrong_chain' || why === 'use_without_transfer';
}

/** Decided once more under the locks: status and removal may have changed since the chain was read. */
async function end(
  { market, completions }: PathContext,
  tx: Tx,
  payment: X402Payment,
  evidence: Evidence,
  payerCollectsOnly: boolean,
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
  // A facilitator that batches can put two payments into one transaction: it proves the first, a person decides on the second.
  const isFirst = await insertProof(tx, payment, payment.purpose, transfer, now);
  if (!isFirst) {
    // The payee is shown no money that it was shown already.
    const own = (await isTransferTaken(tx, transfer)) ? null : logIndex;
    return { status: 'needs_review', reason: 'transaction_used', transfer, logIndex: own };
  }
  if (decision.outcome === 'review') return { status: 'needs_review', reason: decision.reason, transfer, logIndex };
  return { status: 'completed', reason: null, transfer, logIndex };
}

/**
 * True when the facilitator names its signers and none of them sent this transaction. It is asked again before a sender counts as a
 * stranger, since it may have begun to use a new address. Null: it does not answer, and the payment waits.
 */
async function isFromStranger(
  { market, refreshSigners }: PathContext,
  payment: X402Payment,
  transfer: SettledTransfer,
): Promise<boolean | null> {
  const { database, config, clock } = market;
  const { chainId, signersReadAt: since } = payment;
  const asked = { chainId, url: config.facilitatorUrl, address: transfer.sender, since };
  const findSender = () => findSigner(database, asked);
  const sender = await findSender();
  if (sender.isNamed || !sender.namesAny) return false;
  const refreshed = await refreshSigners();
  if ((await findSender()).isNamed) return false;
  const waited = clock.now() - Number(transfer.blockTime) * 1000;
  return refreshed || waited > SIGNER_PATIENCE_MS ? true : null;
}

/** A signed authorization that came with the request; a facilitator submits it. */
const x402: PaymentPath<X402Payment, Attempt, Evidence> = {
  open: openAttempt,
  isShownBy: ({ nonce }, { authorization }) => nonce === authorization.nonce,
  mayDrive: ({ market }, payment, proof) => mayDrive(market, payment, proof),
  drive,
  evidence: async (context, { head, isUnchanged }, payments) => {
    const changed = payments.filter((payment) => !isUnchanged(payment, [payment.blockNumber]));
    return await gatherEvidence(context, head, changed);
  },
  seenIn: ({ use }) => [use?.log.blockNumber ?? null],
  decide: endByEvidence,
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

interface Gathering {
  market: Pick<Market, 'clock' | 'log'>;
  /** What the other providers say to what would be decided. */
  corroboration: Pick<Corroboration, 'onUses'>;
}

/**
 * Reads about some payments of one asset, all from one provider, the one whose head it is. What would decide is then shown to the other
 * providers; where they do not bear it out it comes back as evidence that decides nothing. Throws RpcFailure when what they share
 * cannot be read.
 */
async function gatherEvidence(
  { market, corroboration }: Gathering,
  head: ChainHead,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Evidence>> {
  if (payments.length === 0) return new Map();
  const { rpc, chainId, latest, finalized } = head;
  const findings = await readFindings(market, { rpc, latest }, payments);
  const gathered = new Map<bigint, Evidence>(
    [...findings].map(([id, finding]) => [id, { chainId, latest, finalized, ...finding }]),
  );
  const corroborated = await corroboration.onUses(head, payments, gathered);
  const ends = payments.some((payment) => {
    const evidence = corroborated.get(payment.id);
    return evidence !== undefined && decide(evidence, attemptTermsOf(payment, null)).outcome !== 'unknown';
  });
  return !ends || (await isStillFinal(rpc, head)) ? corroborated : withoutFinalized(corroborated);
}

function withoutFinalized(gathered: Map<bigint, Evidence>): Map<bigint, Evidence> {
  return new Map([...gathered].map(([id, evidence]) => [id, { ...evidence, finalized: null }]));
}

/** A transfer that the buyer makes for an intent, and claims with a signature. */
const direct: PaymentPath<DirectPayment, NewClaim, ClaimReading> = {
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

/** A new way to pay is a line here, and a file next to this one. */
export const PAYMENT_PATHS = { x402, direct } as const satisfies Record<Payment['path'], object>;

/** The path of that payment, for all that treats payments alike. What one path reads as evidence, only the same path is given. */
export function pathOf({ path }: Pick<Payment, 'path'>): PaymentPath<Payment, never, unknown> {
  return PAYMENT_PATHS[path] as unknown as PaymentPath<Payment, never, unknown>;
}
