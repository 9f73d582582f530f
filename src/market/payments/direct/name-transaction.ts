import type { PaymentPurpose } from '../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import { findWatermark } from '../head/store.ts';
import type { DirectPayment, Payment } from '../payment.ts';
import { presentPayment } from '../present-payment.ts';
import { findProof } from '../proofs/store.ts';
import { challengeAgrees } from './challenge.ts';
import { dropHash, findIntent, type Intent, listClaimHashes, nameHash } from './store.ts';

/** How many undecided transactions one claim may name. */
const MOST_HASHES = 5;

/** The intent that this merchant opened for that; a foreign one is as absent as an unknown one. */
export async function findOwnIntent(
  queryable: Queryable,
  merchant: Merchant,
  id: string,
  purpose: PaymentPurpose,
): Promise<Intent> {
  const intent = await findIntent(queryable, id);
  if (intent === null || intent.merchantId !== merchant.id) throw new Refusal('intent_not_found');
  if (intent.purpose !== purpose || !challengeAgrees(intent, merchant.handle)) throw new Refusal('intent_changed');
  return intent;
}

/** Refuses a transaction that proves something else, before anything is stored for it. */
export async function checkUnused(queryable: Queryable, txHash: Hex): Promise<void> {
  if ((await findProof(queryable, { txHash })) !== null) throw new Refusal('transaction_used');
}

/**
 * Puts a transaction among those that an open claim names. Call with the row locked. Beyond five, the oldest that nobody has seen on
 * the chain makes room.
 */
export async function nameTransaction(tx: Tx, market: Market, claim: DirectPayment, txHash: Hex): Promise<void> {
  const undecided = (await listClaimHashes(tx, claim.id)).filter(({ refusedReason }) => refusedReason === null);
  if (undecided.some((named) => named.txHash === txHash)) return;
  if (undecided.length >= MOST_HASHES) {
    const unseen = undecided.find(({ seenBlock }) => seenBlock === null);
    if (unseen === undefined) throw await undecidedRefusal(tx, market, claim);
    await dropHash(tx, claim.id, unseen.txHash);
  }
  await nameHash(tx, claim.id, txHash);
}

/** Another payment of the same buyer, or of the same goods, has to end first. */
export async function undecidedRefusal(queryable: Queryable, market: Market, payment: Payment): Promise<Refusal> {
  const watermark = await findWatermark(queryable, payment.chainId);
  return new Refusal('payment_undecided', {
    retryAfterSeconds: 5,
    fields: {
      payment: presentPayment(payment, watermark, payment.listingId, market.clock.now()),
      ...(payment.path === 'direct' ? { intent_id: payment.intentId } : {}),
    },
  });
}
