import type { ClaimBody } from '../../contract/payments.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { answerUncompleted, answerUndeployed } from '../payments/paths/direct/answer-claim.ts';
import { decideBeside, findDecided } from '../payments/paths/direct/find-decided.ts';
import { checkSignature } from '../payments/paths/direct/check-signature.ts';
import {
  checkUnused,
  findOwnIntent,
  isBound,
  nameTransaction,
  rejectedRefusal,
  undecidedRefusal,
} from '../payments/paths/direct/name-transaction.ts';
import { findClaim, type Intent, insertClaim, rebindPayer } from '../payments/paths/direct/store.ts';
import { type DirectPayment, isOpen } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findOpenFee, lockPayment } from '../payments/store.ts';
import type { ListAnswer } from './answer-created.ts';
import { answerCompletedFee, refuseWithoutListing } from './answer-fee.ts';
import type { Checked, ListRequest } from './list-request.ts';
import { checkOpenFees } from './open-fee.ts';

const MAX_ROUNDS = 4;

/** What was sent along, and what the checks have found; null while nothing was checked, and then no claim opens. */
export interface Claimed<Found extends Checked | null> {
  claim: ClaimBody;
  checked: Found;
}

/** The fee by a transfer: the claim, the exact body and what is held for it are committed before the chain is asked. */
export async function listByTransfer(
  market: Market,
  payments: Payments,
  request: ListRequest,
  claimed: Claimed<Checked>,
): Promise<ListAnswer> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const answer = await continueClaim(market, payments, request, claimed);
    if (answer !== null) return answer;
  }
  throw new Refusal('payment_preserved', {
    detail: 'Another request for this fee is under way.',
    retryAfterSeconds: 1,
  });
}

/** Null when the claim that was found is over, or a rival took its place: the next round sees what became of it. */
export async function continueClaim(
  market: Market,
  payments: Payments,
  request: ListRequest,
  { claim, checked }: Claimed<Checked | null>,
): Promise<ListAnswer | null> {
  const { intent_id, tx_hash: txHash, payer_signature } = claim;
  const intent = await findOwnIntent(market.database, request.merchant, intent_id, 'listing_fee');
  const decided = await findDecided(market.database, intent, txHash);
  if (decided !== null) return await answerDecided(market, payments, request, { decided, txHash });
  const standing = await findClaim(market.database, intent.id);
  const signed = await checkSignature(payments, intent, payer_signature as Hex);
  if ('undeployed' in signed) {
    return await answerUndeployed(market, payments, intent, { wallet: signed.undeployed, txHash });
  }
  const signedClaim = { txHash, payer: signed.payer };
  if (standing?.status === 'completed') {
    const other = await decideBeside(market, payments, intent, signedClaim);
    if (other !== null) return await answerDecided(market, payments, request, { decided: other, txHash });
  }
  if (!(await checkUnused(market.database, intent, txHash))) return null;
  // What the standing wallet has paid is its own: that is looked at before another wallet takes its place.
  if (standing?.status === 'settling' && standing.payer !== signed.payer) {
    if (!isOpen(await payments.settle(standing))) return null;
  }
  const opened = await openOrJoin(market, request, intent, { payer: signed.payer, txHash, checked });
  if (opened === null) return null;
  market.crashPoint('after_claim_committed');
  const current = await payments.settle(opened);
  if (current.path !== 'direct') throw new TypeError('a claim that is none');
  const ended = isOpen(current)
    ? null
    : ((await findDecided(market.database, intent, txHash)) ??
      (await decideBeside(market, payments, intent, signedClaim)));
  return ended === null
    ? await answerUncompleted(market, payments, current, txHash)
    : await answerDecided(market, payments, request, { decided: ended, txHash });
}

/** Of a claim, or of what was paid beside it. */
async function answerDecided(
  market: Market,
  payments: Payments,
  request: ListRequest,
  { decided, txHash }: { decided: DirectPayment; txHash: Hex },
): Promise<ListAnswer | null> {
  if (decided.status === 'completed') return await answerCompleted(market, request, decided);
  if (decided.status === 'rejected') throw await rejectedRefusal(market.database, decided);
  return await answerUncompleted(market, payments, decided, txHash);
}

/** A fee pays for the body with which it was claimed. */
async function answerCompleted(market: Market, request: ListRequest, claim: DirectPayment): Promise<ListAnswer> {
  if (!isOfBody(claim, request))
    throw new Refusal('transaction_used', { detail: 'That fee paid for another listing.' });
  const answer = await answerCompletedFee(market, claim);
  if (answer !== null) return answer;
  throw await refuseWithoutListing(market, claim, request.subject);
}

function isOfBody(claim: DirectPayment, { bodyHash }: ListRequest): boolean {
  return claim.bodyHash?.equals(bodyHash) === true;
}

interface Named {
  payer: Hex;
  txHash: Hex;
  checked: Checked | null;
}

async function openOrJoin(
  market: Market,
  request: ListRequest,
  intent: Intent,
  { payer, txHash, checked }: Named,
): Promise<DirectPayment | null> {
  return await market.database.transaction(async (tx) => {
    await tx.lock(`fees:${request.merchant.id}`);
    const standing = await findClaim(tx, intent.id);
    const opened =
      standing === null || standing.status === 'unpaid' || standing.status === 'rejected'
        ? checked && (await open(tx, market, request, intent, { payer, checked }))
        : await join(tx, market, request, standing, payer);
    if (opened !== null) await nameTransaction(tx, market, opened, txHash);
    return opened;
  });
}

async function open(
  tx: Tx,
  market: Market,
  { merchant, bodyHash }: ListRequest,
  intent: Intent,
  { payer, checked }: { payer: Hex; checked: Checked },
): Promise<DirectPayment | null> {
  await checkOpenFees(tx, market, merchant.id);
  const now = new Date(market.clock.now());
  const opened = await insertClaim(tx, intent, { payer, bodyHash, surplus: false, now });
  if (opened !== null) {
    await checked.hold(tx, opened);
    return opened;
  }
  const rival = await findOpenFee(tx, merchant.id, bodyHash);
  if (rival !== null) throw await undecidedRefusal(tx, market, rival);
  return null;
}

/** The same claim with another transaction or wallet; with other goods it has to wait until it is decided. */
async function join(
  tx: Tx,
  market: Market,
  request: ListRequest,
  standing: DirectPayment,
  payer: Hex,
): Promise<DirectPayment | null> {
  const locked = await lockPayment(tx, standing.id);
  if (locked?.path !== 'direct' || !isOpen(locked)) return null;
  if (!isOfBody(locked, request)) throw await undecidedRefusal(tx, market, locked);
  if (locked.payer === payer) return locked;
  if (await isBound(tx, locked)) throw await undecidedRefusal(tx, market, locked);
  await rebindPayer(tx, locked.id, payer, new Date(market.clock.now()));
  return { ...locked, payer };
}
