import { RpcFailure } from '../../platform/chain/rpc.ts';
import { createPasses, type Passes } from '../../platform/create-passes.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import type { Completions, SettledTransfer } from './completion.ts';
import { type Decision, decide, type Evidence, type UnknownWhy } from './decide.ts';
import { gatherClaims } from './direct/gather-claims.ts';
import { settleClaim } from './direct/settle-claim.ts';
import { createSignerRefresh } from './facilitator/refresh-signers.ts';
import { findReading, wasSigner } from './facilitator/store.ts';
import { type Gathering, gatherEvidence } from './gather-evidence.ts';
import type { ChainHead } from './head/read-head.ts';
import { isHalted } from './head/store.ts';
import { type DirectPayment, isOpen, type Payment, type X402Payment } from './payment.ts';
import { insertProof, isTransferTaken } from './proofs/store.ts';
import type { SecondOpinions } from './providers/ask-others.ts';
import type { HeldPayments } from './providers/held-payments.ts';
import { endPayment, findPayment, lockPayment, noteSighting } from './store.ts';
import { attemptTermsOf } from './x402/attempt-terms.ts';

/** How long a payment may wait for a silent facilitator to say whether the sender is one of its signers. */
const SIGNER_PATIENCE_MS = 60 * 60_000;

/** Moves payments on by what the chain shows. Whoever asks about the same payment at once shares the reading. */
export function createSettler(
  market: Market,
  completions: Completions,
  { readHead, opinions }: { readHead: () => Promise<ChainHead>; opinions: SecondOpinions },
) {
  const refreshSigners = createSignerRefresh(market);
  const underway = new Map<bigint, { passes: Passes<void>; users: number }>();
  const needs = { market, completions, refreshSigners, held: opinions.held };

  async function settleOne(id: bigint): Promise<void> {
    const payment = await findPayment(market.database, id);
    if (payment === null || !isOpen(payment)) return;
    for (const apply of await gather([payment], false)) await apply.apply();
  }

  /** What the chain shows of each, as acts that are still to be done. */
  async function gather(payments: readonly Payment[], skipYoung: boolean): Promise<Applying[]> {
    const gathering = { market, readHead, opinions, skipYoung };
    const byX402 = onThisChain(market, payments, 'x402');
    const direct = onThisChain(market, payments, 'direct');
    const evidences =
      byX402.length > 0 ? await readOrNothing(market, () => gatherEvidence(gathering, byX402)) : new Map();
    const readings = direct.length > 0 ? await readOrNothing(market, () => gatherClaims(gathering, direct)) : new Map();
    return [
      ...byX402.map((payment) => {
        const evidence = evidences.get(payment.id);
        return {
          id: payment.id,
          apply: async () => void (evidence && (await applyEvidence(needs, payment, evidence))),
        };
      }),
      ...direct.map((payment) => {
        const reading = readings.get(payment.id);
        return { id: payment.id, apply: async () => void (reading && (await settleClaim(needs, payment, reading))) };
      }),
    ];
  }

  return {
    /** Reads the chain about one open payment and moves it as far as that allows. An unreadable chain changes nothing. */
    async settle(payment: Payment): Promise<Payment> {
      if (!isOpen(payment)) return payment;
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
      for (const { apply } of await gather([claim], false)) await apply();
    },
    /** The same for many payments of one asset, with one reading of what they share. */
    async settleMany(payments: readonly Payment[], { skipYoung }: { skipYoung: boolean }): Promise<void> {
      for (const { id, apply } of await gather(payments, skipYoung)) {
        try {
          await apply();
        } catch (error) {
          // One payment that cannot be ended must not keep the others waiting; it is looked at again in the next pass.
          market.log.error('payment_not_ended', { payment_id: id, error });
        }
      }
    },
  };
}

/** A payment of a network that this market was on before is decided where its chain is read, and left as it is here. */
function onThisChain<P extends Payment['path']>(market: Market, payments: readonly Payment[], path: P) {
  const { chainId } = market.config.network;
  return payments.filter((one): one is Extract<Payment, { path: P }> => one.path === path && one.chainId === chainId);
}

/** The log of the final transfer that this payment's authorization made; null while there is none. Throws RpcFailure. */
export async function locateTransfer(gathering: Gathering, payment: X402Payment): Promise<number | null> {
  const evidence = (await gatherEvidence(gathering, [payment])).get(payment.id);
  const decision = evidence && decide(evidence, attemptTermsOf(payment, null));
  return decision !== undefined && 'transfer' in decision ? decision.transfer.logIndex : null;
}

interface Applying {
  id: bigint;
  apply(): Promise<void>;
}

interface Needs {
  market: Market;
  completions: Completions;
  refreshSigners(): Promise<boolean>;
  held: HeldPayments;
}

async function readOrNothing<T>(market: Market, read: () => Promise<Map<bigint, T>>): Promise<Map<bigint, T>> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable', { error });
    return new Map();
  }
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
