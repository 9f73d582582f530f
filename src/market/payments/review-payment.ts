import type { Endpoints } from '../../contract/index.ts';
import { type Log, type Receipt, readBlock, readLogs, readReceipt } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import {
  type FoundTransfer,
  isInBlock,
  isStillFinal,
  sameLogs,
  type TransferEvidence,
} from '../../platform/chain/sighting.ts';
import { addressTopic, decodeAuthorizationUsed, decodeTransfer, TRANSFER_TOPIC } from '../../platform/chain/usdc.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { type Hex, ZERO_ADDRESS } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { findWatermark, isHalted } from './chain/store.ts';
import type { Completions } from './completion.ts';
import { releaseWaitingHashes } from './paths/direct/further-store.ts';
import { hasAuthorization, hasBought } from './paths/direct/store.ts';
import { findUnproven, viewOfUnproven } from './paths/direct/unproven-store.ts';
import type { Payment } from './payment.ts';
import { type Payments, recordReview } from './payments.ts';
import { presentPayment } from './present-payment.ts';
import { findProof, insertProof, isTransferTaken, type ProofRow } from './proof-store.ts';
import { decideUnproven } from './review-unproven.ts';
import { endReview, findPayment, lockPayment } from './store.ts';

type ReviewCall = MarketCall<Endpoints['reviewPayment']>;

/** POST /api/review/:payment_id. The payee decides once on a payment in review. A refund must be proven on the chain. */
export function makeReviewPayment(payments: Payments): MarketOperation<Endpoints['reviewPayment']> {
  const { completions } = payments;
  return async (market, call) => {
    const payment = await findReviewable(market, completions, call);
    if (payment.status !== 'needs_review') throw new Refusal('already_decided');
    const refund =
      call.body.tx_hash === undefined ? null : await readRefund(market, payments, payment, call.body.tx_hash);
    const located = call.body.outcome === 'deliver' ? await locateTransfer(market, payments, payment) : null;
    await market.database.transaction((tx) =>
      decideReview(tx, market, completions, { call, payment, refund, located }),
    );
    const decided = (await findReviewed(market.database, payment.id)) ?? payment;
    const watermark = await findWatermark(market.database, payment.chainId);
    const listingId = await payments.listingOf(decided);
    return { status: 200, body: { payment: presentPayment(decided, watermark, listingId, market.clock.now()) } };
  };
}

/** Finds a payment or an unsigned claim; both are numbered from the same sequence. */
async function findReviewed(queryable: Queryable, id: bigint): Promise<Payment | null> {
  const payment = await findPayment(queryable, id);
  if (payment !== null) return payment;
  const unproven = await findUnproven(queryable, { id });
  return unproven && viewOfUnproven(unproven);
}

/** Throws payment_not_found also if another merchant decides on the payment. */
async function findReviewable(market: Market, completions: Completions, call: ReviewCall): Promise<Payment> {
  const payment = await findReviewed(market.database, call.params.payment_id);
  if (payment === null || !wasInReview(payment)) throw new Refusal('payment_not_found');
  const decider = await completions[payment.purpose].deciderOf(market.database, payment);
  if (decider !== call.caller.id) throw new Refusal('payment_not_found');
  return payment;
}

/** A review also ends when the wallet signs, for this claim or for another one of the same transfer. */
function wasInReview({ status, reviewOutcome, endReason }: Payment): boolean {
  if (status === 'needs_review' || reviewOutcome !== null) return true;
  return endReason === 'proven' || endReason === 'superseded';
}

/** Returns the refund's transfer if it is valid and final; throws otherwise. */
async function readRefund(market: Market, payments: Payments, payment: Payment, txHash: Hex): Promise<FoundTransfer> {
  const { database } = market;
  if ((await findProof(database, { txHash })) !== null) throw new Refusal('transaction_used');
  const proof = await findProof(database, { paymentId: payment.id });
  const unproven = proof === null ? await findUnproven(database, { id: payment.id }) : null;
  const received = proof?.valueUnits ?? unproven?.transfer.value ?? payment.valueUnits;
  const evidence = await gatherRefund(payments, payment, txHash);
  const decision = decideRefund(evidence, {
    chainId: payment.chainId,
    asset: payment.asset,
    from: payment.payee,
    to: payment.payer,
    minimumUnits: received,
    afterBlock: payment.blockNumber ?? 0n,
  });
  if (decision.outcome === 'refunded') {
    if (await isOfLedger(market, payment, evidence.receipt)) throw new Refusal('transaction_used');
    return decision.transfer;
  }
  throw new Refusal(decision.outcome === 'refused' ? 'refund_not_found' : 'refund_not_final', { retryAfterSeconds: 5 });
}

/** Whether the transaction used the authorization of a payment here. Then its transfer belongs to that payment, ended or not. */
async function isOfLedger({ database }: Market, payment: Payment, receipt: Receipt | null): Promise<boolean> {
  const logs = receipt?.logs.filter(({ address }) => address === payment.asset) ?? [];
  const used = logs.flatMap((log) => decodeAuthorizationUsed(log) ?? []);
  return await hasAuthorization(database, payment, used);
}

async function gatherRefund(payments: Payments, payment: Payment, txHash: Hex): Promise<TransferEvidence> {
  try {
    const head = await payments.readHead();
    const { rpc, chainId } = head;
    const receipt = await readReceipt(rpc, txHash);
    const baseEvidence = { chainId, finalized: head.finalized, receipt, block: null, transfersInBlock: [] };
    if (receipt === null) return baseEvidence;
    const topics = [TRANSFER_TOPIC, null, addressTopic(payment.payer)];
    const [block, transfersInBlock] = await Promise.all([
      readBlock(rpc, receipt.blockNumber),
      readLogs(rpc, { address: payment.asset, topics, blockHash: receipt.blockHash }),
    ]);
    const shown = { ...baseEvidence, block, transfersInBlock };
    // If another provider does not confirm the evidence, treat it as not final.
    const isCertain = (await payments.corroborate(head, payment, shown)) && (await isStillFinal(rpc, head));
    return { ...shown, finalized: isCertain ? head.finalized : null };
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

async function decideReview(
  tx: Tx,
  market: Market,
  completions: Completions,
  review: { call: ReviewCall; payment: Payment; refund: FoundTransfer | null; located: number | null },
): Promise<void> {
  const { call, payment, refund, located } = review;
  const { outcome, note } = call.body;
  const completion = completions[payment.purpose];
  const subject = await completion.lockSubject(tx, payment);
  const now = new Date(market.clock.now());
  const by = { id: payment.id, outcome, by: call.caller.id, note: note ?? null };
  const locked = (await lockPayment(tx, payment.id)) ?? (await decideUnproven(tx, market, by));
  if (locked === null) return await recordReview(tx, market, payment, { outcome, actor: call.caller.handle });
  if (locked.status !== 'needs_review') throw new Refusal('already_decided');
  if (refund !== null && !(await insertProof(tx, locked, { purpose: 'refund', transfer: refund, now })))
    throw new Refusal('transaction_used');
  if (outcome === 'deliver') {
    // Providers may disagree on what is final, so even a delivery by the payee waits for the operator.
    if (await isHalted(tx, locked.chainId)) {
      throw new Refusal('payment_preserved', {
        detail: 'Payments are halted, since what the market knows of the chain or of its own log is in doubt.',
        nextStep: 'Decide on delivery once the operator has resumed payments. To decline is possible now.',
        retryAfterSeconds: 60,
      });
    }
    await mustBeBought(tx, locked);
    const proof = await findProof(tx, { paymentId: locked.id });
    if (proof === null && locked.logIndex === null) await mustBeUntaken(tx, locked, located);
    const { payerCollectsOnly } = locked;
    await completion.completeReviewed(tx, locked, { transfer: proof && transferOf(proof), payerCollectsOnly, subject });
  }
  // Transactions that the payer named meanwhile are surplus now, and each gets its own review.
  if (outcome === 'deliver') await releaseWaitingHashes(tx, locked.id);
  await endReview(tx, locked.id, { ...by, logIndex: located, now });
  await recordReview(tx, market, locked, { outcome, actor: call.caller.handle });
}

/**
 * Reads the chain again for this payment's own transfer, if another payment has the transaction's proof and the transfer was not recorded
 * when the review began. Null if no reading is needed or the payment has no transfer of its own.
 */
async function locateTransfer(market: Market, payments: Payments, payment: Payment): Promise<number | null> {
  if (payment.logIndex !== null) return null;
  if ((await findProof(market.database, { paymentId: payment.id })) !== null) return null;
  try {
    return await payments.locate(payment);
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

/** Refuses a transfer that another payment has, because one transfer pays for only one thing. */
async function mustBeUntaken(tx: Tx, { txHash }: Payment, logIndex: number | null): Promise<void> {
  if (txHash !== null && logIndex !== null && !(await isTransferTaken(tx, { txHash, logIndex }))) return;
  throw new Refusal('not_deliverable', {
    detail:
      'The transfer in that transaction is what another payment was made with: nothing was received for this one.',
    nextStep: 'Decide on declined.',
  });
}

/** Refuses to deliver a surplus payment unless the buyer already has the goods, because a surplus payment sells nothing. */
async function mustBeBought(tx: Tx, payment: Payment): Promise<void> {
  const { listingId, merchantId, payer } = payment;
  if (!payment.surplus || listingId === null || merchantId === null) return;
  if (await hasBought(tx, listingId, { merchantId, payer })) return;
  throw new Refusal('not_deliverable', {
    detail:
      'Another transfer for the same intent is in review or was given back. Deliver on that one, or refund or decline this one.',
  });
}

function transferOf(proof: ProofRow): FoundTransfer {
  return {
    txHash: proof.txHash,
    blockNumber: proof.blockNumber,
    blockHash: proof.blockHash,
    blockTime: BigInt(Math.floor(proof.blockTime.getTime() / 1000)),
    logIndex: proof.logIndex,
    value: proof.valueUnits,
    // Proofs contain no sender, and a review does not use it.
    sender: ZERO_ADDRESS,
  };
}

export interface RefundTerms {
  chainId: bigint;
  asset: Hex;
  /** The payment's payee, who sends the refund. */
  from: Hex;
  /** The payment's payer. */
  to: Hex;
  /** The amount that the payee received. */
  minimumUnits: bigint;
  /** The payment's block. The refund must be in a later one. */
  afterBlock: bigint;
}

type RefundDecision =
  | { outcome: 'refunded'; transfer: FoundTransfer }
  | { outcome: 'refused' }
  | { outcome: 'unknown' };

/** Decides whether a transaction refunds a payment. Pure. Returns unknown if the evidence is not final or contradicts itself. */
export function decideRefund(evidence: TransferEvidence, terms: RefundTerms): RefundDecision {
  const { chainId, finalized, receipt, block } = evidence;
  const isToPayer = (log: Log): boolean => log.address === terms.asset && decodeTransfer(log)?.to === terms.to;
  if (chainId !== terms.chainId || finalized === null || receipt === null || !isInBlock(receipt, block)) {
    return { outcome: 'unknown' };
  }
  const { blockNumber, blockHash } = receipt;
  const isFinal = blockNumber < finalized.number || (blockNumber === finalized.number && blockHash === finalized.hash);
  if (!isFinal || !sameLogs(receipt, evidence.transfersInBlock, isToPayer)) return { outcome: 'unknown' };
  if (receipt.status !== 'success' || blockNumber <= terms.afterBlock) return { outcome: 'refused' };
  for (const log of receipt.logs) {
    const transfer = isToPayer(log) ? decodeTransfer(log) : null;
    if (transfer?.from !== terms.from || transfer.value < terms.minimumUnits) continue;
    const found = { logIndex: log.logIndex, value: transfer.value, sender: receipt.from, blockTime: block.timestamp };
    return { outcome: 'refunded', transfer: { ...found, txHash: receipt.transactionHash, blockNumber, blockHash } };
  }
  return { outcome: 'refused' };
}
