import type { Queryable, Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import { Refusal } from '../../../../platform/refusal.ts';
import type { Market } from '../../../context.ts';
import { type DirectPayment, isOpen } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { findProof } from '../../proof-store.ts';
import { lockPayment } from '../../store.ts';
import { answerUncompleted, answerWaiting, type PendingClaim } from './answer-claim.ts';
import { checkSignature, type SignedIntent } from './check-signature.ts';
import { findHolder } from './further-store.ts';
import {
  checkUnused,
  isBound,
  mustNotBeHeld,
  nameTransaction,
  rejectedRefusal,
  tryToName,
  undecidedRefusal,
  withUnjudged,
} from './name-transaction.ts';
import { refuseMeanwhile } from './refuse-meanwhile.ts';
import { findClaim, findSurplus, type Intent, listClaimHashes, refuseHash } from './store.ts';
import { refuseUnsigned } from './unproven-claim.ts';
import { endUnprovenOf, lockTransfer, lockTransfers } from './unproven-store.ts';

/** One transaction that is claimed for an intent of the caller, with the signature of who sent it. */
export interface SignedClaim extends SignedIntent {
  txHash: Hex;
}

/** What is claimed: goods, or a listing for its fee. */
export interface ClaimSubject<Answer> {
  /** Names the listing that the fee is for; null for goods. */
  bodyHash: Buffer | null;
  /** Refuses a wallet whose transfer could pay for nothing here. */
  checkPayer(payer: Hex): Promise<void>;
  /** Locks what comes before the payment's row in the order of locks. */
  lock(tx: Tx): Promise<unknown>;
  /** A claim of its own, `standing` being the one before it. Null when a rival took the place, or nothing may be opened now. */
  openClaim(tx: Tx, payer: Hex, standing: DirectPayment | null): Promise<DirectPayment | null>;
  /** Refuses a standing claim that is for something else. */
  mustBeSame(tx: Tx, standing: DirectPayment): Promise<void>;
  /** Binds the standing claim to another wallet, or refuses. */
  rebind(tx: Tx, standing: DirectPayment, payer: Hex): Promise<void>;
  answerCompletedClaim(payment: DirectPayment): Promise<Answer | null>;
}

/**
 * A signed claim as far as it goes now: it is committed with its transaction before the chain is asked. Null when the claim that was found
 * is over, or a rival took its place: the next round sees what became of it.
 */
export async function continueClaim<Answer>(
  market: Market,
  payments: Payments,
  claim: SignedClaim,
  subject: ClaimSubject<Answer>,
): Promise<Answer | PendingClaim | null> {
  const { intent, txHash } = claim;
  const decided = await findDecided(market.database, intent, txHash);
  if (decided !== null) return await answerDecided(market, payments, txHash, subject, decided);
  const standing = await findClaim(market.database, intent.id);
  const signed = await checkSignature(payments, claim);
  if ('waitsFor' in signed) {
    return await answerWaiting(market, payments, intent, { wallet: signed.waitsFor, txHash });
  }
  if ('unsigned' in signed) {
    const { bodyHash } = subject;
    throw await refuseUnsigned(market, payments, {
      intent,
      txHash,
      payer: signed.unsigned,
      code: signed.code,
      bodyHash,
    });
  }
  const { payer } = signed;
  await subject.checkPayer(payer);
  if (standing?.status === 'needs_review') {
    const refusal = await refuseMeanwhile(market, payments, standing, { txHash, payer });
    if (refusal === null) return null;
    throw refusal;
  }
  if (standing?.status === 'completed') {
    const other = await decideSurplus(market, payments, intent, { txHash, payer });
    if (other !== null) return await answerDecided(market, payments, txHash, subject, other);
  }
  if (!(await checkUnused(market.database, intent, txHash))) return null;
  // What the standing wallet has paid is its own: that is looked at before another wallet takes its place.
  if (standing?.status === 'settling' && standing.payer !== payer) {
    if (!isOpen(await payments.settle(standing))) return null;
  }
  const opened = await openOrJoin(market, claim, subject, payer);
  if (opened === null) return null;
  market.crashPoint('after_claim_committed');
  const current = await payments.settle(opened);
  if (current.path !== 'direct') throw new TypeError('a claim that is none');
  const ended = isOpen(current)
    ? null
    : ((await findDecided(market.database, intent, txHash)) ??
      (await decideSurplus(market, payments, intent, { txHash, payer })));
  return ended === null
    ? await answerUncompleted(market, payments, current, txHash)
    : await answerDecided(market, payments, txHash, subject, ended);
}

/** Answers with a decided claim, or with a decided surplus payment of it. */
async function answerDecided<Answer>(
  market: Market,
  payments: Payments,
  txHash: Hex,
  subject: ClaimSubject<Answer>,
  decided: DirectPayment,
): Promise<Answer | PendingClaim | null> {
  if (decided.status === 'completed') return await subject.answerCompletedClaim(decided);
  if (decided.status === 'rejected') throw await rejectedRefusal(market.database, decided);
  return await answerUncompleted(market, payments, decided, txHash);
}

/** Null when the standing claim has just ended. A refusal names the transaction that it leaves unjudged. */
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
    throw isUndecided ? withUnjudged(error, claim.txHash) : error;
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
    await mustNotBeHeld(tx, market, intent, { txHash, payer, except: standing?.id ?? null });
    const opened =
      standing === null || standing.status === 'unpaid' || standing.status === 'rejected'
        ? await subject.openClaim(tx, payer, standing)
        : await join(tx, market, subject, { standing, payer, transfers });
    if (opened === null) return null;
    await nameTransaction(tx, market, opened, txHash);
    await endUnprovenOf(tx, { txHash, payer, payee: intent.payee }, 'proven', new Date(market.clock.now()));
    return opened;
  });
}

/** The one that is named now; and all of the standing claim where it may change hands, since they become this wallet's then. */
async function transfersToLock(tx: Tx, intent: Intent, txHash: Hex, payer: Hex): Promise<ReadonlySet<Hex>> {
  const standing = await findClaim(tx, intent.id);
  if (standing?.status !== 'settling' || standing.payer === payer) return new Set([txHash]);
  return new Set([txHash, ...(await listClaimHashes(tx, standing.id)).map((named) => named.txHash)]);
}

interface Joining {
  standing: DirectPayment;
  payer: Hex;
  /** Transactions that are locked. */
  transfers: ReadonlySet<Hex>;
}

/** Another wallet may sign as long as no transfer of the standing one is final, where the intent names none. */
async function join(
  tx: Tx,
  market: Market,
  subject: ClaimSubject<unknown>,
  { standing, payer, transfers }: Joining,
): Promise<DirectPayment | null> {
  const locked = await lockPayment(tx, standing.id);
  if (locked?.path !== 'direct' || !isOpen(locked)) return null;
  await subject.mustBeSame(tx, locked);
  if (locked.payer === payer) return locked;
  // One that was named just now is not locked: the next round has it.
  if ((await listClaimHashes(tx, locked.id)).some(({ txHash }) => !transfers.has(txHash))) return null;
  if (await isBound(tx, locked)) throw await undecidedRefusal(tx, market, locked);
  await subject.rebind(tx, locked, payer);
  const rebound = { ...locked, payer };
  await takeOver(tx, rebound, new Date(market.clock.now()));
  return rebound;
}

/** Gives this wallet the transfers that the claim names, as if it had named them itself. Call with those transfers locked. */
async function takeOver(tx: Tx, { id, payer, payee }: DirectPayment, now: Date): Promise<void> {
  for (const { txHash, isUndecided } of await listClaimHashes(tx, id)) {
    if (!isUndecided) continue;
    const isHeld = (await findHolder(tx, { txHash, payer, except: id })) !== null;
    if (isHeld) await refuseHash(tx, id, txHash, 'transaction_used');
    else await endUnprovenOf(tx, { txHash, payer, payee }, 'proven', now);
  }
}

/**
 * The payment, paid or in review, that a claim of this transaction is answered with; null while there is none, and where the intent
 * was paid by another transaction: what is new has to be signed for before it is looked at. Writes nothing.
 */
async function findDecided(queryable: Queryable, intent: Intent, txHash: Hex): Promise<DirectPayment | null> {
  const surplus = await findSurplus(queryable, intent.id, txHash);
  if (surplus !== null) return surplus;
  const claim = await findClaim(queryable, intent.id);
  const isDecided = claim?.status === 'needs_review' || claim?.status === 'completed';
  return isDecided && claim.txHash === txHash ? claim : null;
}

/**
 * For a signed claim of another transaction than the one that paid its intent: it may be money that came in twice. The intent's own
 * payment where it is not. Null while the intent is not paid.
 */
async function decideSurplus(
  market: Market,
  payments: Payments,
  intent: Intent,
  { txHash, payer }: { txHash: Hex; payer: Hex },
): Promise<DirectPayment | null> {
  const claim = await findClaim(market.database, intent.id);
  if (claim?.status !== 'completed') return null;
  // Only what the wallet of the claim sent can be money for it.
  if (claim.payer !== payer) return claim;
  return (await nameSurplus(market, payments, claim, txHash)) ?? claim;
}

/** Null while nothing is to be reviewed. Where the chain cannot be read the transaction stays named, and the pass looks at it. */
async function nameSurplus(
  market: Market,
  payments: Payments,
  claim: DirectPayment,
  txHash: Hex,
): Promise<DirectPayment | null> {
  const { database } = market;
  // Another request may have brought it to a review just now.
  if ((await findProof(database, { txHash })) !== null) return await findSurplus(database, claim.intentId, txHash);
  const isNamed = await database.transaction(async (tx) => {
    await lockTransfer(tx, txHash);
    await lockPayment(tx, claim.id);
    const { payer, payee } = claim;
    // Its payee decides with it in sight: it stays there.
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
