import type { Tx } from '../../../../platform/database/database.ts';
import type { Hex } from '../../../../platform/hex.ts';
import type { Market } from '../../../context.ts';
import { type DirectPayment, isOpen } from '../../payment.ts';
import type { Payments } from '../../payments.ts';
import { lockPayment } from '../../store.ts';
import { answerUncompleted, answerUndeployed, type PendingClaim } from './answer-claim.ts';
import { checkSignature } from './check-signature.ts';
import { decideSurplus, findDecided } from './find-decided.ts';
import { checkUnused, isBound, nameTransaction, rejectedRefusal, undecidedRefusal } from './name-transaction.ts';
import { findClaim, type Intent } from './store.ts';

/** One transaction that is claimed for an intent of the caller, with the signature of who sent it. */
export interface SignedClaim {
  intent: Intent;
  txHash: Hex;
  signature: Hex;
}

/** What is claimed: goods, or a listing for its fee. */
export interface ClaimSubject<Answer> {
  /** Refuses a wallet whose transfer could pay for nothing here. */
  checkPayer(payer: Hex): Promise<void>;
  /** Locks what comes before the payment's row in the order of locks. */
  lock(tx: Tx): Promise<unknown>;
  /** A claim of its own, `standing` being the one before it. Null when a rival took the place, or nothing may be opened now. */
  open(tx: Tx, payer: Hex, standing: DirectPayment | null): Promise<DirectPayment | null>;
  /** Refuses a standing claim that is for something else. */
  mustBeSame(tx: Tx, standing: DirectPayment): Promise<void>;
  /** Binds the standing claim to another wallet, or refuses. */
  rebind(tx: Tx, standing: DirectPayment, payer: Hex): Promise<void>;
  answerCompleted(payment: DirectPayment): Promise<Answer | null>;
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
  const signed = await checkSignature(payments, intent, claim.signature);
  if ('undeployed' in signed) {
    return await answerUndeployed(market, payments, intent, { wallet: signed.undeployed, txHash });
  }
  const { payer } = signed;
  await subject.checkPayer(payer);
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
  if (decided.status === 'completed') return await subject.answerCompleted(decided);
  if (decided.status === 'rejected') throw await rejectedRefusal(market.database, decided);
  return await answerUncompleted(market, payments, decided, txHash);
}

/** Null when the standing claim has just ended. */
async function openOrJoin(
  market: Market,
  { intent, txHash }: SignedClaim,
  subject: ClaimSubject<unknown>,
  payer: Hex,
): Promise<DirectPayment | null> {
  return await market.database.transaction(async (tx) => {
    await subject.lock(tx);
    const standing = await findClaim(tx, intent.id);
    const opened =
      standing === null || standing.status === 'unpaid' || standing.status === 'rejected'
        ? await subject.open(tx, payer, standing)
        : await join(tx, market, subject, standing, payer);
    if (opened !== null) await nameTransaction(tx, market, opened, txHash);
    return opened;
  });
}

/** Another wallet may sign as long as no transfer of the standing one is final, where the intent names none. */
async function join(
  tx: Tx,
  market: Market,
  subject: ClaimSubject<unknown>,
  standing: DirectPayment,
  payer: Hex,
): Promise<DirectPayment | null> {
  const locked = await lockPayment(tx, standing.id);
  if (locked?.path !== 'direct' || !isOpen(locked)) return null;
  await subject.mustBeSame(tx, locked);
  if (locked.payer === payer) return locked;
  if (await isBound(tx, locked)) throw await undecidedRefusal(tx, market, locked);
  await subject.rebind(tx, locked, payer);
  return { ...locked, payer };
}
