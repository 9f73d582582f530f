import type { Endpoints } from '../../contract/index.ts';
import type { ClaimBody } from '../../contract/payments.ts';
import type { Tx } from '../../platform/database/database.ts';
import { isUniqueViolation } from '../../platform/database/database-error.ts';
import type { Hex } from '../../platform/hex.ts';
import { refuseUnreadable } from '../../platform/http/refuse-unreadable.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { findListingTerms, isSellerWallet, type ListingTerms, shareListing } from '../listings/store.ts';
import { answerUncompleted, answerUndeployed, type PendingClaim } from '../payments/paths/direct/answer-claim.ts';
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
import { findClaim, hasBought, type Intent, insertClaim, rebindPayer } from '../payments/paths/direct/store.ts';
import { type DirectPayment, isOpen, type Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findHolding, lockPayment } from '../payments/store.ts';
import { type BuyAnswer, deliver } from './deliver.ts';
import { findPurchase } from './store.ts';

interface Claim {
  merchant: Merchant;
  intent: Intent;
  listing: ListingTerms;
  txHash: Hex;
  signature: Hex;
}

type ClaimAnswer = BuyAnswer | PendingClaim;

/** Each round ends in an answer or in somebody else's row, which the next round finds. */
const MAX_ROUNDS = 4;

/** POST /api/claim/:id (W8): a signed claim that a transfer was made for an intent. Sent again, it goes on or is answered the same. */
export function makeClaimPurchase(payments: Payments): MarketOperation<Endpoints['claimPurchase']> {
  return async (market, call) => {
    const claim = await readClaim(market, call.caller, call.params.id, call.body);
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const answer = await answerRound(market, payments, claim);
        if (answer !== null) return answer;
      }
    } catch (error) {
      throw keepPayment(market, error);
    }
    throw new Refusal('payment_preserved', { detail: 'Another claim is under way.', retryAfterSeconds: 1 });
  };
}

/** Whoever claims may have paid: no failure of ours may sound as if nothing had happened. */
function keepPayment(market: Market, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  market.log.error('claim_answer_failed', { error });
  const known = refuseUnreadable(error, []) ?? new Refusal('internal_error');
  return new Refusal(known.reason, { ...known.options, doNotPayAgain: true });
}

async function readClaim(market: Market, merchant: Merchant, listingId: bigint, body: ClaimBody): Promise<Claim> {
  const intent = await findOwnIntent(market.database, merchant, body.intent_id, 'purchase');
  if (intent.listingId !== listingId) throw new Refusal('intent_changed');
  const listing = await findListingTerms(market.database, listingId);
  if (listing === null) throw new TypeError('an intent for no listing');
  return { merchant, intent, listing, txHash: body.tx_hash, signature: body.payer_signature as Hex };
}

/** Null when the claim that was found is over, or a rival took its place: the next round sees what became of it. */
async function answerRound(market: Market, payments: Payments, claim: Claim): Promise<ClaimAnswer | null> {
  const { intent, txHash } = claim;
  const decided = await findDecided(market.database, intent, txHash);
  if (decided !== null) return await answerDecided(market, payments, claim, decided);
  const standing = await findClaim(market.database, intent.id);
  const signed = await checkSignature(payments, intent, claim.signature);
  if ('undeployed' in signed) {
    return await answerUndeployed(market, payments, intent, { wallet: signed.undeployed, txHash });
  }
  await checkPayer(market, claim, signed.payer);
  const signedClaim = { txHash, payer: signed.payer };
  if (standing?.status === 'completed') {
    const other = await decideBeside(market, payments, intent, signedClaim);
    if (other !== null) return await answerDecided(market, payments, claim, other);
  }
  if (!(await checkUnused(market.database, intent, txHash))) return null;
  // What the standing wallet has paid is its own: that is looked at before another wallet takes its place.
  if (standing?.status === 'settling' && standing.payer !== signed.payer) {
    if (!isOpen(await payments.settle(standing))) return null;
  }
  const opened = await openOrJoin(market, claim, signed.payer);
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
    : await answerDecided(market, payments, claim, ended);
}

/** Of a claim, or of what was paid beside it. */
async function answerDecided(
  market: Market,
  payments: Payments,
  { listing, txHash }: Claim,
  decided: DirectPayment,
): Promise<ClaimAnswer | null> {
  if (decided.status === 'completed') return await deliverClaimed(market, listing, decided);
  if (decided.status === 'rejected') throw await rejectedRefusal(market.database, decided);
  return await answerUncompleted(market, payments, decided, txHash);
}

/**
 * A wallet that the intent names was looked at when it opened. Any other is judged as of that time: a seller that lists somebody's
 * wallet as its own after the buyer has begun to pay must not keep the goods back by it.
 */
async function checkPayer(market: Market, { intent, listing }: Claim, payer: Hex): Promise<void> {
  if (intent.payer !== null) return;
  if (await isSellerWallet(market.database, listing.merchantId, payer, intent.createdAt)) {
    throw new Refusal('own_goods', {
      detail: 'The payer is a wallet to which this merchant sells.',
      nextStep: 'A transfer between the wallets of one seller buys nothing. Pay from a wallet of your own.',
    });
  }
}

/** Goods that were bought before are handed out under that purchase. */
async function deliverClaimed(market: Market, listing: ListingTerms, payment: DirectPayment): Promise<BuyAnswer> {
  market.crashPoint('after_commit_before_answer');
  const { database } = market;
  const purchase =
    (await findPurchase(database, listing.id, { paymentId: payment.id })) ??
    (await findPurchase(database, listing.id, { merchantId: payment.merchantId })) ??
    (await findPurchase(database, listing.id, { payer: payment.payer }));
  if (purchase === null) throw new TypeError('a completed claim without its purchase');
  return await deliver(market, listing.id, purchase, 'key', payment);
}

/** Commits the claim with its transaction before the chain is asked. Null when the standing one has just ended. */
async function openOrJoin(market: Market, claim: Claim, payer: Hex): Promise<DirectPayment | null> {
  return await market.database.transaction(async (tx) => {
    // In the order of every other act on a payment: the listing, then the row.
    await shareListing(tx, claim.listing.id);
    const standing = await findClaim(tx, claim.intent.id);
    const opened =
      standing === null || standing.status === 'unpaid' || standing.status === 'rejected'
        ? await open(tx, market, claim, { standing, payer })
        : await join(tx, market, claim, { standing, payer });
    if (opened !== null) await nameTransaction(tx, market, opened, claim.txHash);
    return opened;
  });
}

async function open(
  tx: Tx,
  market: Market,
  { intent, listing, merchant }: Claim,
  { standing, payer }: { standing: DirectPayment | null; payer: Hex },
): Promise<DirectPayment | null> {
  const surplus = await hasBought(tx, listing.id, { merchantId: merchant.id, payer });
  const now = new Date(market.clock.now());
  const opened = await insertClaim(tx, intent, { payer, bodyHash: null, surplus, now });
  if (opened !== null) return opened;
  // The same claim, sent at once, was first: the next round goes on with it, whatever else is undecided.
  if ((await findClaim(tx, intent.id))?.id !== standing?.id) return null;
  const rival = await findRival(tx, listing.id, merchant, payer);
  if (rival !== null && isUndecided(rival)) throw await undecidedRefusal(tx, market, rival, merchant);
  return null;
}

async function findRival(tx: Tx, listingId: bigint, { id }: Merchant, payer: Hex): Promise<Payment | null> {
  return (await findHolding(tx, listingId, { merchantId: id })) ?? (await findHolding(tx, listingId, { payer }));
}

function isUndecided(payment: Payment): boolean {
  return isOpen(payment) || payment.status === 'needs_review';
}

/** Another wallet may sign as long as no transfer of the standing one is final, where the intent names none. */
async function join(
  tx: Tx,
  market: Market,
  { listing, merchant }: Claim,
  { standing, payer }: { standing: DirectPayment; payer: Hex },
): Promise<DirectPayment | null> {
  const locked = await lockPayment(tx, standing.id);
  if (locked?.path !== 'direct' || !isOpen(locked)) return null;
  if (locked.payer === payer) return locked;
  // Whether its transfer can be delivered or only reviewed was said when the claim opened, and stays so.
  const surplus = await hasBought(tx, listing.id, { merchantId: merchant.id, payer });
  if (surplus !== locked.surplus || (await isBound(tx, locked))) throw await undecidedRefusal(tx, market, locked);
  try {
    await tx.savepoint(() => rebindPayer(tx, locked.id, payer, new Date(market.clock.now())));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const rival = await findHolding(tx, listing.id, { payer });
    throw await undecidedRefusal(tx, market, rival !== null && isUndecided(rival) ? rival : locked, merchant);
  }
  return { ...locked, payer };
}
