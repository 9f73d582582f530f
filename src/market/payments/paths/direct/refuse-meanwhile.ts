import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { findWatermark } from '../../chain/store.ts';
import type { DirectPayment } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { presentPayment } from '../../present-payment.ts';
import { findProof } from '../../proof-store.ts';
import { lockPayment } from '../../store.ts';
import { reasonOf } from './answer-claim.ts';
import { addWaitingHash, deleteWaitingHash, findUndecided, listWaitingHashes } from './further-store.ts';
import { otherClaimRefusal } from './name-transaction.ts';
import { MAX_HASHES } from './store.ts';
import { endUnprovenOf, lockTransfer } from './unproven-store.ts';

interface FurtherClaim {
  txHash: Hex;
  payer: Hex;
}

/**
 * Answers a claim of another transaction while the payee decides on the intent's first one. Partial amounts are never added up, but a
 * matching transfer may still pay if the first one is declined. So the transaction is stored, shown to the payee, and judged after the
 * decision. Returns null if the payee has decided meanwhile.
 */
export async function refuseDuringReview(
  market: Market,
  payments: Payments,
  review: DirectPayment,
  further: FurtherClaim,
): Promise<Refusal | null> {
  const { database, clock } = market;
  const { txHash } = further;
  const kept = await keepFurther(market, review, further);
  if (kept === 'decided') return null;
  if (kept === 'used') return new Refusal('transaction_used');
  if (typeof kept === 'object') return await otherClaimRefusal(database, market, review, { txHash, holder: kept });
  if (kept === 'kept') await payments.further.readNamed(review);
  const waiting = (await listWaitingHashes(database, review.id)).find((one) => one.txHash === txHash);
  const payment = presentPayment(review, await findWatermark(database, review.chainId), review.listingId, clock.now());
  const payeeDecidesFirst = `the payee decides on payment ${review.id}, transaction ${review.txHash}, first`;
  const movedNothing = kept === 'kept' && waiting === undefined;
  return new Refusal(reasonOf(review.endReason), {
    detail: movedNothing
      ? `Transaction ${txHash} moved nothing from this wallet to the payee, and ${payeeDecidesFirst}.`
      : `Transaction ${txHash} was not looked at: ${payeeDecidesFirst}.`,
    nextStep: nextStepOf(txHash, waiting === undefined ? null : { isSeen: waiting.seenBlock !== null }),
    fields: { payment_status: 'needs_review', payment, tx_hash: txHash },
  });
}

/** `waiting` is null if the transaction is not stored. */
function nextStepOf(txHash: Hex, waiting: { isSeen: boolean } | null): string {
  const claimLater = 'Claim it again once the payee has decided. Do not pay again.';
  if (waiting === null) return claimLater;
  return waiting.isSeen ? `GET /api/payment?tx_hash=${txHash} shows where it stands. ${claimLater}` : claimLater;
}

/**
 * Stores the transaction with the claim. Only transfers of the claim's own wallet count. If as many already wait as a claim may name, the
 * new one replaces the oldest unseen one, or is not stored if all were seen. If the transaction is undecided for another intent's claim,
 * that claim takes precedence and is returned. The wallet has signed for the transaction, so unsigned claims of it end.
 */
async function keepFurther(
  { database, clock }: Market,
  review: DirectPayment,
  { txHash, payer }: FurtherClaim,
): Promise<'kept' | 'left' | 'decided' | 'used' | DirectPayment> {
  return await database.transaction(async (tx) => {
    await lockTransfer(tx, txHash);
    const locked = await lockPayment(tx, review.id);
    if (locked?.status !== 'needs_review') return 'decided';
    // Look for the proof last. A claim that is being paid right now is no longer undecided but has its proof, so this order misses neither.
    const undecidedClaim = await findUndecided(tx, { txHash, payer, except: review.id });
    if ((await findProof(tx, { txHash })) !== null) return 'used';
    if (payer !== locked.payer) return 'left';
    if (undecidedClaim !== null) return undecidedClaim;
    await endUnprovenOf(tx, { txHash, payer, payee: locked.payee }, 'proven', new Date(clock.now()));
    const waiting = await listWaitingHashes(tx, review.id);
    if (waiting.length >= MAX_HASHES && !waiting.some((one) => one.txHash === txHash)) {
      const unseen = waiting.find(({ seenBlock }) => seenBlock === null);
      if (unseen === undefined) return 'left';
      await deleteWaitingHash(tx, review.id, unseen.txHash);
    }
    return (await addWaitingHash(tx, review.id, txHash)) ? 'kept' : 'left';
  });
}
