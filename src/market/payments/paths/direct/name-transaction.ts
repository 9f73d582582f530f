import type { PaymentPurpose } from '../../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market, Merchant } from '../../../context.ts';
import { findWatermark } from '../../chain/store.ts';
import { type DirectPayment, mayPayAgain, type Payment } from '../../payment.ts';
import { presentPayment } from '../../present-payment.ts';
import { findProof } from '../../proof-store.ts';
import { findPaidOrPending } from '../../store.ts';
import { pathOf } from '../payment-paths.ts';
import type { SignedIntent } from './check-signature.ts';
import { findHolder, type HolderSearch } from './further-store.ts';
import { findIntentPayment } from './intent-payment.ts';
import { challengeAgrees, type IntentTerms } from './intents.ts';
import { dropHash, findClaim, findIntent, type Intent, listClaimHashes, MAX_HASHES, nameHash } from './store.ts';

/** Finds the intent that this merchant opened for this purpose. Another merchant's intent gets the same answer as an unknown one. */
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

/** Returns null if no signature was sent. Throws if the intent belongs to another merchant or was made for something else. */
export async function findSignedIntent(
  queryable: Queryable,
  merchant: Merchant,
  { purpose, listingId }: Pick<IntentTerms, 'purpose' | 'listingId'>,
  body: { intent_id?: string | undefined; payer_signature?: string | undefined },
): Promise<SignedIntent | null> {
  const { intent_id: id, payer_signature: signature } = body;
  if (id === undefined || signature === undefined) return null;
  const intent = await findOwnIntent(queryable, merchant, id, purpose);
  if (intent.listingId !== listingId) throw new Refusal('intent_changed');
  return { intent, signature: signature as Hex };
}

/**
 * Refuses if a transfer was already claimed for the intent, so that nobody is asked to send another one, unless the buyer may pay again.
 */
export async function mustBeUnclaimed(queryable: Queryable, market: Market, intent: Intent): Promise<void> {
  const payment = await findIntentPayment(queryable, intent.id);
  if (payment === null || mayPayAgain(payment)) return;
  throw await undecidedRefusal(queryable, market, payment);
}

/**
 * Refuses a transaction that proves something else, before anything is stored for it. Returns false if it already proves this intent,
 * because another request or the background job was faster. Then that claim is the answer.
 */
export async function checkUnused(queryable: Queryable, intent: Intent, txHash: Hex): Promise<boolean> {
  const proof = await findProof(queryable, { txHash });
  if (proof === null) return true;
  const claim = await findClaim(queryable, intent.id);
  if (claim?.id !== proof.paymentId || proof.purpose === 'refund') throw new Refusal('transaction_used');
  if (claim.status === 'rejected') throw await rejectedRefusal(queryable, claim);
  return false;
}

/** Builds the refusal after the payee's decision. The buyer may pay again, unless another payment is completed or under way. */
export async function rejectedRefusal(queryable: Queryable, { listingId, merchantId, reviewOutcome }: DirectPayment) {
  const other = listingId === null ? null : await findPaidOrPending(queryable, listingId, { merchantId });
  return new Refusal('transaction_used', {
    detail: `That transfer was reviewed, and is ${reviewOutcome}.`,
    nextStep: 'It pays for nothing here any more. GET /api/payment shows what was decided.',
    doNotPayAgain: other !== null,
  });
}

/** Adds a transaction to an open claim. Call with the row locked. */
export async function nameTransaction(tx: Tx, market: Market, claim: DirectPayment, txHash: Hex): Promise<void> {
  if (!(await tryToName(tx, claim, txHash))) throw await undecidedRefusal(tx, market, claim);
}

/**
 * Adds a transaction. If the claim already has five undecided ones, drops the oldest that was not seen in a block; returns false if all
 * were seen.
 */
export async function tryToName(tx: Tx, claim: DirectPayment, txHash: Hex): Promise<boolean> {
  const named = await listClaimHashes(tx, claim.id);
  if (named.some((one) => one.txHash === txHash && one.refusedReason === null)) return true;
  const undecided = named.filter(({ isUndecided }) => isUndecided);
  if (undecided.length >= MAX_HASHES) {
    const unseen = undecided.find(({ seenBlock }) => seenBlock === null);
    if (unseen === undefined) return false;
    await dropHash(tx, claim.id, unseen.txHash);
  }
  await nameHash(tx, claim.id, txHash);
  return true;
}

/** Whether a transfer of the claim's wallet may already be final and waits only for the claim's other transactions. */
export async function hasFinalTransfer(tx: Tx, claim: DirectPayment): Promise<boolean> {
  const watermark = await findWatermark(tx, claim.chainId);
  const named = await listClaimHashes(tx, claim.id);
  return named.some(
    ({ isUndecided, seenBlock }) =>
      isUndecided && seenBlock !== null && watermark !== null && seenBlock <= watermark.number,
  );
}

/**
 * Builds the refusal for when another payment by the same buyer, or for the same goods, is undecided. A caller who only named a wallet, or
 * showed its signature, learns nothing about what that wallet pays for another merchant.
 */
export async function undecidedRefusal(
  queryable: Queryable,
  market: Market,
  payment: Payment,
  caller?: Merchant,
): Promise<Refusal> {
  if (caller !== undefined && payment.merchantId !== caller.id) {
    return new Refusal('payment_undecided', {
      retryAfterSeconds: 5,
      nextStep: 'That wallet is paying for these goods. Wait until that has ended. Do not pay again.',
    });
  }
  const watermark = await findWatermark(queryable, payment.chainId);
  return new Refusal('payment_undecided', {
    retryAfterSeconds: 5,
    fields: {
      payment: presentPayment(payment, watermark, payment.listingId, market.clock.now()),
      ...pathOf(payment).present.fields(payment),
    },
  });
}

/** Throws if another claim holds the transaction, because its payee sees the transaction and may deliver because of it. */
export async function mustHaveNoOtherClaim(tx: Tx, market: Market, intent: Intent, named: HolderSearch): Promise<void> {
  const holder = await findHolder(tx, named);
  if (holder !== null) throw await otherClaimRefusal(tx, market, intent, { txHash: named.txHash, holder });
}

/** `holder` is another intent's claim that names the transaction. If it belongs to another merchant, the refusal does not reveal it. */
export async function otherClaimRefusal(
  queryable: Queryable,
  market: Market,
  { merchantId }: Pick<Intent, 'merchantId'>,
  { txHash, holder }: { txHash: Hex; holder: DirectPayment },
): Promise<Refusal> {
  const { reason, options } = await undecidedRefusal(queryable, market, holder);
  const fields = holder.merchantId === merchantId ? options.fields : {};
  return new Refusal(reason, {
    retryAfterSeconds: 60,
    detail: `Transaction ${txHash} is claimed for another intent, and that is undecided.`,
    nextStep: `GET /api/payment?tx_hash=${txHash} shows where it stands. If it pays for nothing there, claim it here again. Do not pay again.`,
    fields: { ...fields, tx_hash: txHash },
  });
}

/** Adds to the refusal that this claim's own transaction was not checked, because the refusal is about another payment. */
export function withUncheckedNote({ reason, options }: Refusal, txHash: Hex): Refusal {
  return new Refusal(reason, {
    ...options,
    detail: options.detail ?? `Transaction ${txHash} was not looked at: another payment for this is undecided.`,
    fields: { ...options.fields, tx_hash: txHash },
  });
}
