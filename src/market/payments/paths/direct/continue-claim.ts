import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { type DirectPayment, isOpen } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { findProof } from '../../proof-store.ts';
import { lockPayment } from '../../store.ts';
import { answerUncheckableClaim, answerUncompleted, type PendingClaim } from './answer-claim.ts';
import { checkSignature, type SignedIntent } from './check-signature.ts';
import { findHolder } from './further-store.ts';
import {
  checkUnused,
  hasFinalTransfer,
  mustHaveNoOtherClaim,
  nameTransaction,
  rejectedRefusal,
  tryToName,
  undecidedRefusal,
  withUncheckedNote,
} from './name-transaction.ts';
import { refuseDuringReview } from './refuse-meanwhile.ts';
import { findClaim, findSurplus, type Intent, listClaimHashes, refuseHash } from './store.ts';
import { refuseUnsigned } from './unproven-claim.ts';
import { endUnprovenOf, lockTransfer, lockTransfers } from './unproven-store.ts';

export interface SignedClaim extends SignedIntent {
  txHash: Hex;
}

/** The subject of a claim: goods, or the listing that a fee pays for. */
export interface ClaimSubject<Answer> {
  /** Identifies the listing that the fee is for; null for goods. */
  bodyHash: Buffer | null;
  /** Throws if a transfer from this wallet cannot pay for the subject. */
  checkPayer(payer: Hex): Promise<void>;
  /** Takes the locks that come before the payment row in the lock order. */
  lock(tx: Tx): Promise<unknown>;
  /** Opens a new claim after `standing`, the previous one. Returns null if another request came first, or nothing may be opened now. */
  openClaim(tx: Tx, payer: Hex, standing: DirectPayment | null): Promise<DirectPayment | null>;
  /** Throws if the standing claim is for another subject. */
  mustBeSame(tx: Tx, standing: DirectPayment): Promise<void>;
  /** Rebinds the standing claim to another wallet, or throws. */
  rebind(tx: Tx, standing: DirectPayment, payer: Hex): Promise<void>;
  answerCompletedClaim(payment: DirectPayment): Promise<Answer | null>;
}

/**
 * Advances a signed claim as far as possible now. Commits the claim with its transaction before it decides on that transaction. Returns
 * null if the claim has ended meanwhile or another request was faster; then the caller tries again.
 */
export async function continueClaim<Answer>(
  market: Market,
  payments: Payments,
  claim: SignedClaim,
  subject: ClaimSubject<Answer>,
): Promise<Answer | PendingClaim | null> {
  const { intent, txHash } = claim;
  const decided = await findDecided(market.database, intent, txHash);
  if (decided !== null) return await answerDecided(market, payments, subject, { decided, txHash });
  const standing = await findClaim(market.database, intent.id);
  const signatureCheck = await checkSignature(payments, claim);
  if ('waitsFor' in signatureCheck) {
    return await answerUncheckableClaim(market, payments, intent, { wallet: signatureCheck.waitsFor, txHash });
  }
  if ('unsigned' in signatureCheck) {
    const { bodyHash } = subject;
    throw await refuseUnsigned(market, payments, {
      intent,
      txHash,
      payer: signatureCheck.unsigned,
      code: signatureCheck.code,
      bodyHash,
    });
  }
  const { payer } = signatureCheck;
  await subject.checkPayer(payer);
  if (standing?.status === 'needs_review') {
    const refusal = await refuseDuringReview(market, payments, standing, { txHash, payer });
    if (refusal === null) return null;
    throw refusal;
  }
  if (standing?.status === 'completed') {
    const other = await decideSurplus(market, payments, intent, { txHash, payer });
    if (other !== null) return await answerDecided(market, payments, subject, { decided: other, txHash });
  }
  if (!(await checkUnused(market.database, intent, txHash))) return null;
  // The standing claim's wallet may have paid, so read and decide that claim before another wallet takes it over.
  if (standing?.status === 'settling' && standing.payer !== payer) {
    if (!isOpen(await payments.readAndDecide(standing))) return null;
  }
  const opened = await openOrJoin(market, claim, subject, payer);
  if (opened === null) return null;
  market.crashPoint('after_claim_committed');
  const current = await payments.readAndDecide(opened);
  if (current.path !== 'direct') throw new TypeError('a claim that is none');
  const ended = isOpen(current)
    ? null
    : ((await findDecided(market.database, intent, txHash)) ??
      (await decideSurplus(market, payments, intent, { txHash, payer })));
  return ended === null
    ? await answerUncompleted(market, payments, current, txHash)
    : await answerDecided(market, payments, subject, { decided: ended, txHash });
}

/** Answers with a decided claim, or with its decided surplus payment. */
async function answerDecided<Answer>(
  market: Market,
  payments: Payments,
  subject: ClaimSubject<Answer>,
  { decided, txHash }: { decided: DirectPayment; txHash: Hex },
): Promise<Answer | PendingClaim | null> {
  if (decided.status === 'completed') return await subject.answerCompletedClaim(decided);
  if (decided.status === 'rejected') throw await rejectedRefusal(market.database, decided);
  return await answerUncompleted(market, payments, decided, txHash);
}

/** Returns null if the standing claim has just ended. A refusal names the transaction that stays unjudged. */
async function openOrJoin(
  market: Market,
  claim: SignedClaim,
  subject: ClaimSubject<unknown>,
  payer: Hex,
): Promise<DirectPayment | null> {
  try {
    return await tryToOpen(market, claim, subject, payer);
  } catch (error) {
    const isUndecided = error instanceof Refusal && error.reason === 'payment_undecided';
    throw isUndecided ? withUncheckedNote(error, claim.txHash) : error;
  }
}

async function tryToOpen(
  market: Market,
  { intent, txHash }: SignedClaim,
  subject: ClaimSubject<unknown>,
  payer: Hex,
): Promise<DirectPayment | null> {
  return await market.database.transaction(async (tx) => {
    await subject.lock(tx);
    const transfers = await transfersToLock(tx, intent, txHash, payer);
    await lockTransfers(tx, transfers);
    const standing = await findClaim(tx, intent.id);
    await mustHaveNoOtherClaim(tx, market, intent, { txHash, payer, except: standing?.id ?? null });
    const opened =
      standing === null || standing.status === 'unpaid' || standing.status === 'rejected'
        ? await subject.openClaim(tx, payer, standing)
        : await joinClaim(tx, market, subject, { standing, payer, transfers });
    if (opened === null) return null;
    await nameTransaction(tx, market, opened, txHash);
    await endUnprovenOf(tx, { txHash, payer, payee: intent.payee }, 'proven', new Date(market.clock.now()));
    return opened;
  });
}

/**
 * Returns the newly named transaction. If another wallet may take over the claim, also returns the claim's transactions, which that wallet
 * takes over too.
 */
async function transfersToLock(tx: Tx, intent: Intent, txHash: Hex, payer: Hex): Promise<ReadonlySet<Hex>> {
  const standing = await findClaim(tx, intent.id);
  if (standing?.status !== 'settling' || standing.payer === payer) return new Set([txHash]);
  return new Set([txHash, ...(await listClaimHashes(tx, standing.id)).map((named) => named.txHash)]);
}

interface Joining {
  standing: DirectPayment;
  payer: Hex;
  transfers: ReadonlySet<Hex>;
}

/**
 * Joins the standing claim. A wallet other than the claim's own takes it over, which is possible only if the intent names no wallet and
 * none of the claim's transfers is final. Returns null if the claim has ended or names a transaction that is not locked.
 */
async function joinClaim(
  tx: Tx,
  market: Market,
  subject: ClaimSubject<unknown>,
  { standing, payer, transfers }: Joining,
): Promise<DirectPayment | null> {
  const locked = await lockPayment(tx, standing.id);
  if (locked?.path !== 'direct' || !isOpen(locked)) return null;
  await subject.mustBeSame(tx, locked);
  if (locked.payer === payer) return locked;
  // A transaction named since then is not locked yet; the next attempt locks it.
  if ((await listClaimHashes(tx, locked.id)).some(({ txHash }) => !transfers.has(txHash))) return null;
  if (await hasFinalTransfer(tx, locked)) throw await undecidedRefusal(tx, market, locked);
  await subject.rebind(tx, locked, payer);
  const rebound = { ...locked, payer };
  await takeOver(tx, rebound, new Date(market.clock.now()));
  return rebound;
}

/** Passes the claim's transactions to its new wallet, as if that wallet had named them. Call with those transfers locked. */
async function takeOver(tx: Tx, { id, payer, payee }: DirectPayment, now: Date): Promise<void> {
  for (const { txHash, isUndecided } of await listClaimHashes(tx, id)) {
    if (!isUndecided) continue;
    const isHeld = (await findHolder(tx, { txHash, payer, except: id })) !== null;
    if (isHeld) await refuseHash(tx, id, txHash, 'transaction_used');
    else await endUnprovenOf(tx, { txHash, payer, payee }, 'proven', now);
  }
}

/**
 * Finds the paid or reviewed payment that answers a claim of this transaction. Returns null if there is none, or if another transaction
 * paid the intent: a new transaction needs a signature before it is read. Writes nothing.
 */
async function findDecided(queryable: Queryable, intent: Intent, txHash: Hex): Promise<DirectPayment | null> {
  const surplus = await findSurplus(queryable, intent.id, txHash);
  if (surplus !== null) return surplus;
  const claim = await findClaim(queryable, intent.id);
  const isDecided = claim?.status === 'needs_review' || claim?.status === 'completed';
  return isDecided && claim.txHash === txHash ? claim : null;
}

/**
 * Handles a signed claim of a transaction other than the one that paid its intent, because money may have come in twice. Returns the
 * surplus payment, or the intent's own payment if the transaction is not known to be surplus. Returns null while the intent is unpaid.
 */
async function decideSurplus(
  market: Market,
  payments: Payments,
  intent: Intent,
  { txHash, payer }: { txHash: Hex; payer: Hex },
): Promise<DirectPayment | null> {
  const claim = await findClaim(market.database, intent.id);
  if (claim?.status !== 'completed') return null;
  // Only transfers from the claim's own wallet can be surplus.
  if (claim.payer !== payer) return claim;
  return (await nameSurplus(market, payments, claim, txHash)) ?? claim;
}

/** Returns null while there is nothing to review. If the chain is unreadable, the transaction stays named for the background job. */
async function nameSurplus(
  market: Market,
  payments: Payments,
  claim: DirectPayment,
  txHash: Hex,
): Promise<DirectPayment | null> {
  const { database } = market;
  // Another request may just have opened a review of this transaction.
  if ((await findProof(database, { txHash })) !== null) return await findSurplus(database, claim.intentId, txHash);
  const isNamed = await database.transaction(async (tx) => {
    await lockTransfer(tx, txHash);
    await lockPayment(tx, claim.id);
    const { payer, payee } = claim;
    // Another claim that holds the transaction keeps it, because its payee sees the transaction when deciding.
    if ((await findHolder(tx, { txHash, payer, except: claim.id })) !== null) return false;
    if (!(await tryToName(tx, claim, txHash))) return false;
    await endUnprovenOf(tx, { txHash, payer, payee }, 'proven', new Date(market.clock.now()));
    return true;
  });
  if (!isNamed) return null;
  market.crashPoint('after_claim_committed');
  await payments.readSurplus(claim);
  return await findSurplus(database, claim.intentId, txHash);
}
