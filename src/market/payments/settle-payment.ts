import type { Sighting } from '../../platform/chain/sighting.ts';
import { createPasses, type Passes } from '../../platform/create-passes.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import type { Completions, SettledTransfer } from './completion.ts';
import { type Decision, decide, type Evidence, type UnknownWhy } from './paths/x402/decide.ts';
import { settleClaim } from './paths/direct/settle-claim.ts';
import { createSignerRefresh } from './paths/x402/refresh-signers.ts';
import { findSigner } from './paths/x402/signers.ts';
import { type Gathering, gatherEvidence } from './paths/x402/gather-evidence.ts';
import type { FollowedHead } from './head/follow-heads.ts';
import type { ChainHead } from './head/read-head.ts';
import { isHalted } from './head/store.ts';
import type { WhenToLook } from './head/when-to-look.ts';
import { type DirectPayment, isOpen, type Payment, type X402Payment } from './payment.ts';
import { insertProof, isTransferTaken } from './proofs/store.ts';
import type { SecondOpinions } from './providers/ask-others.ts';
import type { HeldPayments } from './providers/held-payments.ts';
import { createPaymentReader, type Shown } from './read-payments.ts';
import { endPayment, findPayment, lockPayment, noteSighting } from './store.ts';
import { attemptTermsOf } from './paths/x402/attempt-terms.ts';

/** How long a payment may wait for a silent facilitator to say whether the sender is one of its signers. */
const SIGNER_PATIENCE_MS = 60 * 60_000;

/** Requests that look at one payment share a reading. Null: it shows nothing new. */
interface Underway {
  /** As it was read last by any of them. */
  newest: Payment;
  users: number;
  passes: Passes<Payment | null>;
}

interface SettlerNeeds {
  readHead(): Promise<FollowedHead>;
  opinions: SecondOpinions;
  isFarFromFinal: WhenToLook['isFarFromFinal'];
}

/** Moves payments on by what the chain shows. */
export function createSettler(
  market: Market,
  completions: Completions,
  { readHead, opinions, isFarFromFinal }: SettlerNeeds,
) {
  const refreshSigners = createSignerRefresh(market);
  const underway = new Map<bigint, Underway>();
  const needs = { market, completions, refreshSigners, held: opinions.held };
  const reader = createPaymentReader({ market, readHead, opinions });

  async function apply(shown: Shown): Promise<Payment> {
    return shown.path === 'x402'
      ? await applyEvidence(needs, shown.payment, shown.evidence)
      : await settleClaim(needs, shown.payment, shown.reading);
  }
  async function settleOne(payment: Payment): Promise<Payment | null> {
    const shown = await reader.readOne(payment);
    return shown === undefined ? null : await apply(shown);
  }
  function share(payment: Payment): Underway {
    const started: Underway = { newest: payment, users: 0, passes: createPasses(() => settleOne(started.newest)) };
    return started;
  }

  return {
    /**
     * Reads the chain about one open payment and moves it as far as that allows. An unreadable chain changes nothing, and a payment that is
     * minutes from final is not read: the background pass sees a reorganisation.
     */
    async settle(payment: Payment): Promise<Payment> {
      if (!isOpen(payment) || (await isFarFromFinal(payment))) return payment;
      const shared = underway.get(payment.id) ?? share(payment);
      underway.set(payment.id, shared);
      if (payment.updatedAt > shared.newest.updatedAt) shared.newest = payment;
      shared.users += 1;
      try {
        return (await shared.passes.fresh()) ?? payment;
      } finally {
        shared.users -= 1;
        if (shared.users === 0) underway.delete(payment.id);
      }
    },
    /** Looks at what a claim that has been decided on names besides. An unreadable chain changes nothing. */
    async lookBeside(claim: DirectPayment): Promise<void> {
      await settleOne(claim);
    },
    /** The same for many payments, with one reading of what they share. */
    async settleMany(payments: readonly Payment[], head: FollowedHead): Promise<void> {
      for (const shown of (await reader.readMany(payments, head)).values()) {
        try {
          await apply(shown);
        } catch (error) {
          // One payment that cannot be ended must not keep the others waiting; it is looked at again in the next pass.
          market.log.error('payment_not_ended', { payment_id: shown.payment.id, error });
        }
      }
    },
  };
}

/** The log of the final transfer that this payment's authorization made; null while there is none. Throws RpcFailure. */
export async function locateTransfer(
  gathering: Gathering,
  head: ChainHead,
  payment: X402Payment,
): Promise<number | null> {
  const evidence = (await gatherEvidence(gathering, head, [payment])).get(payment.id);
  const decision = evidence && decide(evidence, attemptTermsOf(payment, null));
  return decision !== undefined && 'transfer' in decision ? decision.transfer.logIndex : null;
}

interface Needs {
  market: Market;
  completions: Completions;
  refreshSigners(): Promise<boolean>;
  held: HeldPayments;
}

/** The payment as that leaves it. */
async function applyEvidence(needs: Needs, payment: X402Payment, evidence: Evidence): Promise<Payment> {
  const { market } = needs;
  const now = new Date(market.clock.now());
  const decision = decide(evidence, attemptTermsOf(payment, null));
  if (decision.outcome === 'unknown') {
    if (decision.why === 'use_without_transfer') needs.held.note(payment.id, null, decision.why);
    if (isAlarming(decision.why)) {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    return await note(market, payment, decision.sighting, now);
  }
  let fromStranger: boolean | null = false;
  if (decision.outcome === 'settled') {
    market.crashPoint('after_final_before_delivery');
    fromStranger = await isFromStranger(needs, payment, decision.transfer);
    if (fromStranger === null) return await note(market, payment, decision.transfer, now);
  }
  return await market.database.transaction((tx) => end(needs, tx, payment, evidence, fromStranger === true));
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
  { market, completions }: Needs,
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
  { market, refreshSigners }: Needs,
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
