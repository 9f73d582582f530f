import { checksummed } from '../../contract/chain-values.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { ClaimBody } from '../../contract/payments.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { isUniqueViolation } from '../../platform/database/database-error.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { takeIntentQuota } from '../limits/quotas.ts';
import { mustBeOnNetwork, mustNotBeLost } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { findListingTerms, isSellerWallet, type ListingTerms, lockListingShared } from '../listings/store.ts';
import type { PendingClaim } from '../payments/paths/direct/answer-claim.ts';
import { type EarlyCheck, judgeSignature } from '../payments/paths/direct/check-signature.ts';
import { continueClaim } from '../payments/paths/direct/continue-claim.ts';
import {
  existingIntentQuery,
  hasTimeLeft,
  type IntentFindings,
  type IntentTerms,
  isContract,
  mustNotBeTransferred,
  openIntent,
  presentIntentTerms,
  readFindings,
  readIntentTime,
} from '../payments/paths/direct/intents.ts';
import {
  findOwnIntent,
  findSignedIntent,
  mustBeUnclaimed,
  undecidedRefusal,
} from '../payments/paths/direct/name-transaction.ts';
import { findClaim, hasBought, type Intent, insertClaim, rebindPayer } from '../payments/paths/direct/store.ts';
import { findOpenUnproven, viewOfUnproven } from '../payments/paths/direct/unproven-store.ts';
import { type DirectPayment, isOpen, type Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { findPaidOrPending } from '../payments/store.ts';
import { mustBeGoods } from './buy-request.ts';
import { isEntitled } from './collecting.ts';
import { type BuyAnswer, deliverGoods } from './deliver.ts';
import { toSafeRefusal } from './delivery-token.ts';
import { findPurchase } from './store.ts';

interface ShownSignature {
  merchant: Merchant;
  intent: Intent;
  listing: ListingTerms;
  signature: Hex;
}

interface ClaimRequest extends ShownSignature {
  txHash: Hex;
}

type ClaimAnswer = BuyAnswer | PendingClaim;

/** In each round we either answer or lose to another request, whose row the next round finds. */
const MAX_ROUNDS = 4;

/**
 * POST /api/claim/:id. Handles a signed claim that a transfer was made for an intent. Repeating it continues the claim or gets the same
 * answer.
 */
export function makeClaimPurchase(payments: Payments): MarketOperation<Endpoints['claimPurchase']> {
  return async (market, call) => {
    const shown = await readClaim(market, call.caller, call.params.id, call.body);
    const txHash = call.body.tx_hash;
    if (txHash === undefined) return await checkSignatureOnly(market, payments, shown);
    const claim = { ...shown, txHash };
    try {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const answer = await answerRound(market, payments, claim);
        if (answer !== null) return answer;
      }
    } catch (error) {
      throw toSafeRefusal(market, error, 'claim_answer_failed');
    }
    throw new Refusal('payment_preserved', { detail: 'Another claim is under way.', retryAfterSeconds: 1 });
  };
}

async function readClaim(
  market: Market,
  merchant: Merchant,
  listingId: bigint,
  body: Omit<ClaimBody, 'tx_hash'>,
): Promise<ShownSignature> {
  const listing = await findListingTerms(market.database, listingId);
  if (listing === null) await mustNotBeLost(market.database, listingId);
  const intent = await findOwnIntent(market.database, merchant, body.intent_id, 'purchase');
  if (intent.listingId !== listingId) throw new Refusal('intent_changed');
  if (listing === null) throw new TypeError('an intent for no listing');
  return { merchant, intent, listing, signature: body.payer_signature as Hex };
}

/** Checks the signature before any money moves. Answers first with a payment that is finished or under way. Stores nothing. */
async function checkSignatureOnly(market: Market, payments: Payments, shown: ShownSignature) {
  const { intent, listing, merchant } = shown;
  const standing = await findClaim(market.database, intent.id);
  if (standing?.status === 'completed') return await deliverClaimed(market, listing, standing);
  await mustBeUnclaimed(market.database, market, intent);
  await mustHaveNoOpenClaim(market.database, market, listing, merchant);
  const check = await judgeClaimSignature(payments, shown);
  if (check.signer !== null) {
    await checkPayer(market, shown, check.signer);
    const rival = await findRival(market.database, listing.id, merchant, check.signer);
    if (rival?.status === 'completed') throw new Refusal('purchase_exists');
    if (rival !== null) throw await undecidedRefusal(market.database, market, rival, merchant);
  }
  const isLate = !hasTimeLeft(market, intent);
  return {
    status: 200 as const,
    body: {
      signature_checked: check.isGood,
      signer: check.signer && checksummed(check.signer),
      intent_id: intent.id,
      expires_at: isoTime(intent.expiresAt),
      next_step: isLate ? OPEN_ANOTHER : check.nextStep,
      do_not_pay_again: false as const,
    },
  };
}

const OPEN_ANOTHER =
  'Less than five minutes of the intent are left. If nothing was sent for it, open another with POST /api/purchase-intent/:id and sign that.';

async function judgeClaimSignature(payments: Payments, { intent, signature }: ShownSignature): Promise<EarlyCheck> {
  try {
    return await judgeSignature(payments.readHead, intent, signature);
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

async function answerRound(market: Market, payments: Payments, claim: ClaimRequest): Promise<ClaimAnswer | null> {
  return await continueClaim<BuyAnswer>(market, payments, claim, {
    bodyHash: null,
    checkPayer: (payer) => checkPayer(market, claim, payer),
    // Same lock order as everywhere: the listing, then the payment row.
    lock: (tx) => lockListingShared(tx, claim.listing.id),
    openClaim: (tx, payer, standing) => openClaimOf(tx, market, claim, { standing, payer }),
    mustBeSame: async () => {},
    rebind: (tx, standing, payer) => rebindClaim(tx, market, claim, { standing, payer }),
    answerCompletedClaim: (payment) => deliverClaimed(market, claim.listing, payment),
  });
}

/**
 * Refuses a seller's own wallet as payer. A wallet that the intent names was checked when the intent was opened. Any other is judged as of
 * that time. Otherwise a seller could withhold the goods by registering the buyer's wallet as its own after the buyer began to pay.
 */
async function checkPayer(market: Market, { intent, listing }: ShownSignature, payer: Hex): Promise<void> {
  if (intent.payer !== null) return;
  if (await isSellerWallet(market.database, listing.merchantId, payer, intent.createdAt)) {
    throw new Refusal('own_goods', {
      detail: 'The payer is a wallet to which this merchant sells.',
      nextStep: 'A transfer between the wallets of one seller buys nothing. Pay from a wallet of your own.',
    });
  }
}

/** Delivers the goods of a completed claim. If the buyer had bought them before, delivers under the earlier purchase. */
async function deliverClaimed(market: Market, listing: ListingTerms, payment: DirectPayment): Promise<BuyAnswer> {
  market.crashPoint('after_commit_before_answer');
  const { database } = market;
  const purchase =
    (await findPurchase(database, listing.id, { paymentId: payment.id })) ??
    (await findPurchase(database, listing.id, { merchantId: payment.merchantId })) ??
    (await findPurchase(database, listing.id, { payer: payment.payer }));
  if (purchase === null) throw new TypeError('a completed claim without its purchase');
  return await deliverGoods(market, listing.id, { purchase, collectedBy: 'key', payment });
}

async function openClaimOf(
  tx: Tx,
  market: Market,
  { intent, listing, merchant }: ClaimRequest,
  { standing, payer }: { standing: DirectPayment | null; payer: Hex },
): Promise<DirectPayment | null> {
  const surplus = await hasBought(tx, listing.id, { merchantId: merchant.id, payer });
  const opened = await insertClaim(market, tx, { intent, payer, bodyHash: null, surplus });
  if (opened !== null) return opened;
  // A concurrent copy of this claim came first. The next round continues it, even if something else is undecided.
  if ((await findClaim(tx, intent.id))?.id !== standing?.id) return null;
  const rival = await findRival(tx, listing.id, merchant, payer);
  if (rival !== null && isUndecided(rival)) throw await undecidedRefusal(tx, market, rival, merchant);
  return null;
}

async function findRival(
  queryable: Queryable,
  listingId: bigint,
  { id }: Merchant,
  payer: Hex,
): Promise<Payment | null> {
  return (
    (await findPaidOrPending(queryable, listingId, { merchantId: id })) ??
    (await findPaidOrPending(queryable, listingId, { payer }))
  );
}

function isUndecided(payment: Payment): boolean {
  return isOpen(payment) || payment.status === 'needs_review';
}

async function rebindClaim(
  tx: Tx,
  market: Market,
  { listing, merchant }: ClaimRequest,
  { standing, payer }: { standing: DirectPayment; payer: Hex },
): Promise<void> {
  // Opening the claim fixed whether its transfer can be delivered or only reviewed. The new wallet must not change that.
  const surplus = await hasBought(tx, listing.id, { merchantId: merchant.id, payer });
  if (surplus !== standing.surplus) throw await undecidedRefusal(tx, market, standing);
  try {
    await tx.savepoint(() => rebindPayer(tx, standing.id, payer, new Date(market.clock.now())));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const rival = await findPaidOrPending(tx, listing.id, { payer });
    throw await undecidedRefusal(tx, market, rival !== null && isUndecided(rival) ? rival : standing, merchant);
  }
}

const NEXT_STEP =
  'Sign challenge with the wallet that pays (personal_sign), send at least minimum_amount_units of the asset from it to seller_wallet before expires_at, then POST /api/claim/:id.';

/** POST /api/purchase-intent/:id. An unclaimed intent blocks no other buyer and costs nothing. */
export function makeOpenPurchaseIntent(payments: Payments): MarketOperation<Endpoints['openPurchaseIntent']> {
  return async (market, call) => {
    const { caller: merchant } = call;
    const listing = await findListingTerms(market.database, call.params.id);
    if (listing === null) {
      await mustNotBeLost(market.database, call.params.id);
      throw new Refusal('listing_unavailable');
    }
    mustBeGoods(listing);
    const signed = await findSignedIntent(market.database, merchant, termsOf(listing), call.body);
    const payer = signed === null ? (call.body.payer_wallet ?? null) : signed.intent.payer;
    await checkBuyer(market.database, market, listing, { merchant, payer });
    const present = (intent: Intent, findings: IntentFindings) => ({
      purchase_intent: {
        ...presentIntentTerms(market, intent, merchant, { ...findings, next: NEXT_STEP }),
        listing_id: Number(listing.id),
      },
      signature_checked: findings.check?.isGood ?? null,
    });
    if (signed !== null && hasTimeLeft(market, signed.intent)) {
      const findings = await readFindings(payments.readHead, payer, signed);
      const signer = findings.check?.signer ?? null;
      if (signer !== null) await checkPayer(market, { ...signed, merchant, listing }, signer);
      return { status: 200, body: present(signed.intent, findings) };
    }
    await takeIntentQuota(
      market,
      { ...call, merchant },
      existingIntentQuery(market, { merchant, terms: termsOf(listing), payer }),
    );
    await mustNotBeTransferred(market, payments.readHead, termsOf(listing), call.body);
    await payments.payees.mustReceive(listing.sellerWallet);
    const createdAt = await readIntentTime(market, payments.readHead);
    const findings = await readFindings(payments.readHead, payer, null);
    const { intent, isNew } = await market.database.transaction(async (tx) => {
      const shared = await lockListingShared(tx, listing.id);
      if (shared === null) throw new Refusal('listing_unavailable');
      await tx.lock(`intents:${merchant.id}:${listing.id}`);
      await checkBuyer(tx, market, shared, { merchant, payer });
      return await openIntent(tx, market, {
        merchant,
        terms: termsOf(shared),
        payer,
        isContract: isContract(findings),
        createdAt,
      });
    });
    return { status: isNew ? 201 : 200, body: present(intent, findings) };
  };
}

function termsOf({ id, sellerWallet, priceUnits }: ListingTerms): IntentTerms {
  return { purpose: 'purchase', listingId: id, payee: sellerWallet, minimumUnits: priceUnits };
}

/** Builds the refusal for a buyer who need not pay, because an earlier purchase already entitles to the goods. */
function entitledRefusal({ id }: ListingTerms): Refusal {
  return new Refusal('free_listing', {
    detail: `An older version of this listing was bought before: POST /api/buy/${id} delivers this one without a payment.`,
    nextStep: `POST /api/buy/${id} delivers it: with the key, or with a proof of the wallet, that bought the older version. Such a proof is not settled.`,
  });
}

/** Refuses while this merchant's unsigned claim for these goods awaits its payee's decision. */
async function mustHaveNoOpenClaim(
  queryable: Queryable,
  market: Market,
  listing: ListingTerms,
  merchant: Merchant,
): Promise<void> {
  const unproven = await findOpenUnproven(queryable, merchant.id, { listingId: listing.id });
  if (unproven !== null) throw await undecidedRefusal(queryable, market, viewOfUnproven(unproven), merchant);
}

/** Looks for finished or pending payments first, so that an ended listing never hides them. */
async function checkBuyer(
  queryable: Queryable,
  market: Market,
  listing: ListingTerms,
  { merchant, payer }: { merchant: Merchant; payer: Hex | null },
): Promise<void> {
  const existing =
    (await findPaidOrPending(queryable, listing.id, { merchantId: merchant.id })) ??
    (payer && (await findPaidOrPending(queryable, listing.id, { payer })));
  if (existing?.status === 'completed') throw new Refusal('purchase_exists');
  if (existing) throw await undecidedRefusal(queryable, market, existing, merchant);
  await mustHaveNoOpenClaim(queryable, market, listing, merchant);
  if (await isEntitled(queryable, listing, { merchantId: merchant.id, payer })) throw entitledRefusal(listing);
  mustStep(listing, 'buy');
  mustBeOnNetwork(market, listing);
  if (listing.merchantId === merchant.id) throw new Refusal('own_goods');
  if (payer !== null && (await isSellerWallet(queryable, listing.merchantId, payer))) {
    throw new Refusal('own_goods', { detail: 'The payer is a wallet to which this merchant sells.' });
  }
  if (listing.priceUnits === 0n) throw new Refusal('free_listing');
}
