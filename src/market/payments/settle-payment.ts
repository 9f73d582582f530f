import { createPasses, type Passes } from '../../platform/create-passes.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import type { Completions, SettledTransfer } from './completion.ts';
import { type Decision, decide, type Evidence, type UnknownWhy } from './decide.ts';
import { settleClaim } from './direct/settle-claim.ts';
import { createSignerRefresh } from './facilitator/refresh-signers.ts';
import { findReading, wasSigner } from './facilitator/store.ts';
import { type Gathering, gatherEvidence } from './gather-evidence.ts';
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
import { attemptTermsOf } from './x402/attempt-terms.ts';

/** How long a payment may wait for a silent facilitator to say whether the sender is one of its signers. */
const SIGNER_PATIENCE_MS = 60 * 60_000;

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
  const underway = new Map<bigint, { passes: Passes<void>; users: number }>();
  const needs = { market, completions, refreshSigners, held: opinions.held };
  const reader = createPaymentReader({ market, readHead, opinions });

  async function apply(shown: Shown | undefined): Promise<void> {
    if (shown?.path === 'x402') await applyEvidence(needs, shown.payment, shown.evidence);
    if (shown?.path === 'direct') await settleClaim(needs, shown.payment, shown.reading);
  }
  async function settleOne(id: bigint): Promise<void> {
    const payment = await findPayment(market.database, id);
    if (payment !== null && isOpen(payment)) await apply(await reader.readOne(payment));
  }

  return {
    /**
     * Reads the chain about one open payment and moves it as far as that allows. An unreadable chain changes nothing, and a payment that is
     * seconds from final is not read: the background pass sees a reorganisation.
     */
    async settle(payment: Payment): Promise<Payment> {
      if (!isOpen(payment) || (await isFarFromFinal(payment))) return payment;
      const shared = underway.get(payment.id) ?? { passes: createPasses(() => settleOne(payment.id)), users: 0 };
      underway.set(payment.id, shared);
      shared.users += 1;
      try {
        await shared.passes.fresh();
      } finally {
        shared.users -= 1;
        if (shared.users === 0) underway.delete(payment.id);
      }
      return (await findPayment(market.database, payment.id)) ?? payment;
    },
    /** Looks at what a claim that has been decided on names besides. An unreadable chain changes nothing. */
    async lookBeside(claim: DirectPayment): Promise<void> {
      await apply(await reader.readOne(claim));
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

async function applyEvidence(needs: Needs, payment: X402Payment, evidence: Evidence): Promise<void> {
  const { market } = needs;
  const now = new Date(market.clock.now());
  const decision = decide(evidence, attemptTermsOf(payment, null));
  if (decision.outcome === 'unknown') {
    if (decision.why === 'use_without_transfer') needs.held.note(payment.id, null, decision.why);
    if (isAlarming(decision.why)) {
      market.log.error('payment_evidence_contradicts', { payment_id: payment.id, why: decision.why });
    }
    await noteSighting(market.database, payment.id, decision.sighting, now);
    return;
  }
  let fromStranger: boolean | null = false;
  if (decision.outcome === 'settled') {
    market.crashPoint('after_final_before_delivery');
    fromStranger = await isFromStranger(needs, payment, decision.transfer);
    if (fromStranger === null) return await noteSighting(market.database, payment.id, decision.transfer, now);
  }
  await market.database.transaction((tx) => end(needs, tx, payment, evidence, fromStranger === true));
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
): Promise<void> {
  const completion = completions[payment.purpose];
  const { removedAt } = await completion.lockSubject(tx, payment);
  const locked = await lockPayment(tx, payment.id);
  if (locked?.path !== 'x402' || !isOpen(locked) || (await isHalted(tx, locked.chainId))) return;
  const decision = decide(evidence, attemptTermsOf(locked, removedAt));
  const now = new Date(market.clock.now());
  const outcome = await outcomeOf(tx, locked, decision, now);
  if (outcome === null) return;
  if (outcome.status === 'completed') await completion.complete(tx, locked, outcome.transfer, payerCollectsOnly);
  else await completion.endUncompleted(tx, locked);
  await endPayment(tx, locked.id, { ...outcome, payerCollectsOnly }, now);
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
  const named = () => wasSigner(database, payment.chainId, transfer.sender, payment.signersReadAt);
  const reading = await findReading(database, payment.chainId, config.facilitatorUrl);
  if (reading === null || reading.published === 0 || (await named())) return false;
  const refreshed = await refreshSigners();
  if (await named()) return false;
  const waited = clock.now() - Number(transfer.blockTime) * 1000;
  return refreshed || waited > SIGNER_PATIENCE_MS ? true : null;
}
