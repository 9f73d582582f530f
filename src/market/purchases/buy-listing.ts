import type { Endpoints } from '../../contract/index.ts';
import type { Budget } from '../../platform/budget.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { readDownloadToken } from '../goods/downloads/download-token.ts';
import { mustNotBeLost } from '../listings/check-goods.ts';
import { isRefused, judgeStep, mustStep } from '../listings/listing-steps.ts';
import { findListingTerms, type ListingTerms, lockListingShared } from '../listings/store.ts';
import { reviewOfUnproven } from '../payments/paths/direct/unproven-claim.ts';
import { findOpenUnproven } from '../payments/paths/direct/unproven-store.ts';
import { pathOf } from '../payments/paths/payment-paths.ts';
import { checkProof, type ProofCheck } from '../payments/paths/x402/check-proof.ts';
import { endedRefusal } from '../payments/paths/x402/payment-required.ts';
import type { Payment } from '../payments/payment.ts';
import { warnAfterRecovery } from '../payments/payment-guards.ts';
import type { Payments } from '../payments/payments.ts';
import { findPaidOrPending } from '../payments/store.ts';
import { answerPayment } from './answer-payment.ts';
import {
  type BuyContext,
  type BuyRequest,
  findInLedger,
  findPaymentsOf,
  mustBeGoods,
  purchaseTerms,
  readBuyRequest,
} from './buy-request.ts';
import { checkCollecting, collectorOf, isEntitled, isZeroValue, markSignatureUsed } from './collecting.ts';
import { recordSale } from './complete-purchase.ts';
import { addDownloadToken, type BuyAnswer, deliverGoods } from './deliver.ts';
import { refuseStrayToken, rejectTokenForFreeGoods } from './delivery-token.ts';
import { reviewLost } from './review-lost.ts';
import { type RequestFindings, startPurchase } from './start-purchase.ts';
import { type Buyer, findPurchase, insertFreePurchase, lockHistoriesShared } from './store.ts';

/** In each round we either answer or lose to another request, whose row the next round finds. */
const MAX_ROUNDS = 4;

/**
 * POST /api/buy/:id. Checks in this order: ledger, completed purchase, open attempt, goods free for earlier buyers, state of the listing,
 * 402. So an ended listing never hides a purchase, and a client that signs a new authorization with each call never pays twice.
 */
export function makeBuyListing(
  payments: Payments,
  attempts: Pick<Budget, 'take'>,
): MarketOperation<Endpoints['buyListing']> {
  return async (market, call) => {
    const request = readBuyRequest(market, call, attempts);
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const answer = await answerRound(market, payments, request);
      if (answer !== null) return answer;
    }
    throw new Refusal('verification_pending', {
      detail: 'Another call for these goods is under way.',
      retryAfterSeconds: 1,
    });
  };
}

/** Returns null if another request inserted its row between the check and ours. */
async function answerRound(market: Market, payments: Payments, request: BuyRequest): Promise<BuyAnswer | null> {
  const ledgerPayment = await findInLedger(market, request);
  const listing = await findListingTerms(market.database, request.listingId);
  if (listing === null) await mustNotBeLost(market.database, request.listingId);
  if (request.token !== null && request.proof === null && ledgerPayment === null) {
    throw refuseStrayToken(request, listing?.priceUnits === 0n);
  }
  if (listing === null) throw new Refusal('listing_unavailable');
  mustBeGoods(listing);
  // The proof of a known payment does not identify the caller, because it may be public.
  const isOwn =
    ledgerPayment !== null && request.proof !== null && pathOf(ledgerPayment).isShownBy(ledgerPayment, request.proof);
  const buy = { market, payments, request, listing };
  const check = isOwn ? null : await checkFresh(buy);
  const signedBy = await readSigner(buy, check);
  const findings: RequestFindings = { ledgerPayment, check, signedBy, ownPayment: isOwn ? ledgerPayment : null };
  const answer = (await answerFromPayments(buy, findings)) ?? (await answerWithoutPayment(buy, findings));
  await spendIfCollected(market, request, answer);
  return await addTokenIfSigned(market, request, signedBy, answer);
}

/** Returns the wallet that signed: with this request, or with the one to which the market gave this download token. */
async function readSigner({ market, request, listing }: BuyContext, check: ProofCheck | null): Promise<Hex | null> {
  const { downloadToken } = request;
  if (downloadToken !== null) return await readDownloadToken(market, downloadToken, listing.id);
  return check && 'payer' in check ? check.payer : null;
}

/** Gives a download token for a signature, but not for another token, which would then never end. */
async function addTokenIfSigned(
  market: Market,
  { proof, wantsBytes }: BuyRequest,
  signedBy: Hex | null,
  answer: BuyAnswer | null,
): Promise<BuyAnswer | null> {
  if (proof === null || signedBy === null || wantsBytes) return answer;
  if (answer?.status !== 200 || answer.body.collected_by !== 'signature') return answer;
  return await addDownloadToken(market, answer, signedBy);
}

/** Answers from the payments of this proof, token, key or wallet. If a known proof ended unpaid, its payer is still searched for. */
async function answerFromPayments(
  buy: BuyContext,
  { ledgerPayment, signedBy, ownPayment }: RequestFindings,
): Promise<BuyAnswer | null> {
  const { market, request } = buy;
  const collector = collectorOf(request, signedBy);
  const first = ledgerPayment && (await answerPayment(buy, ledgerPayment, collector));
  if (first !== null) return first;
  for (const payment of await findPaymentsOf(market, request, { signedBy, ownPayer: ownPayment?.payer ?? null })) {
    const answer = await answerPayment(buy, payment, collector);
    if (answer !== null) return answer;
  }
  return null;
}

async function answerWithoutPayment(buy: BuyContext, findings: RequestFindings): Promise<BuyAnswer | null> {
  const { market, payments, request, listing } = buy;
  const { signedBy, ownPayment } = findings;
  if (listing.priceUnits === 0n) return await answerFree(market, request, listing, findings);
  // Never ask a buyer of an older version for money here. If the request has a proof, leave it unused.
  const entitled = await deliverEntitled(market, request, listing, signedBy);
  if (entitled !== null) return entitled;
  if (ownPayment !== null) throw refuseOwnEnded(market, listing, ownPayment);
  const merchantId = request.merchant?.id;
  const unproven =
    merchantId === undefined ? null : await findOpenUnproven(market.database, merchantId, { listingId: listing.id });
  if (unproven !== null) throw await reviewOfUnproven(market, unproven);
  const { txHash } = request;
  if (txHash !== null && signedBy !== null) {
    return await reviewLost(market, payments, { request, listing, payer: signedBy, txHash });
  }
  return await startPurchase(buy, findings);
}

async function deliverEntitled(
  market: Market,
  { merchant }: BuyRequest,
  listing: ListingTerms,
  signedBy: Hex | null,
): Promise<BuyAnswer | null> {
  const isEntitledAs = (buyer: Buyer): Promise<boolean> => isEntitled(market.database, listing, buyer);
  const merchantId = merchant?.id ?? null;
  if (!(await isEntitledAs({ merchantId, payer: signedBy }))) return null;
  if (merchantId !== null && (signedBy === null || (await isEntitledAs({ merchantId, payer: null })))) {
    return await deliverGoods(market, listing.id, { purchase: null, collectedBy: 'key', taker: { merchantId } });
  }
  if (signedBy === null) return null;
  return await deliverGoods(market, listing.id, {
    ...{ purchase: null, collectedBy: 'signature' },
    taker: { payer: signedBy },
  });
}

/** Marks the signature as used if it delivered the goods, which it may do once. If key or token was enough, it stays valid. */
async function spendIfCollected(market: Market, request: BuyRequest, answer: BuyAnswer | null): Promise<void> {
  const { proof } = request;
  if (proof === null || !isZeroValue(proof)) return;
  if (answer?.status === 200 && answer.body.collected_by === 'signature')
    await markSignatureUsed(market, request, proof);
}

/** Refuses the old proof of an ended payment. The buyer may sign a new one while the listing is for sale. */
function refuseOwnEnded(market: Market, listing: ListingTerms, ended: Payment): Refusal {
  if (isRefused(judgeStep(listing, 'buy'))) return new Refusal('authorization_lapsed');
  return endedRefusal(market.config, purchaseTerms(market, listing), ended);
}

/** Answers for free goods. A merchant that took them can get them again even if the listing ends. */
async function answerFree(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  { check, signedBy }: RequestFindings,
): Promise<BuyAnswer> {
  const { merchant } = request;
  rejectTokenForFreeGoods(request.token);
  if (check !== null && 'refusal' in check) throw check.refusal;
  const earlierPurchase = merchant && (await findPurchase(market.database, listing.id, { merchantId: merchant.id }));
  if (earlierPurchase) return await deliverGoods(market, listing.id, { purchase: earlierPurchase, collectedBy: 'key' });
  if (isRefused(judgeStep(listing, 'buy'))) {
    // While the listing is live, an earlier buyer takes the goods like everyone else, so that a purchase is recorded.
    const entitled = await deliverEntitled(market, request, listing, signedBy);
    if (entitled !== null) return entitled;
    throw new Refusal('listing_unavailable');
  }
  if (merchant?.id === listing.merchantId) throw new Refusal('own_goods');
  if (merchant === null) {
    const { clientNetwork } = request;
    return await deliverGoods(market, listing.id, { purchase: null, collectedBy: null, taker: { clientNetwork } });
  }
  return await takeFreeGoods(market, listing, merchant);
}

/** Delivers free goods at once. Records a purchase, but only the first time. */
export async function takeFreeGoods(market: Market, listing: ListingTerms, merchant: Merchant): Promise<BuyAnswer> {
  await market.database.transaction(async (tx) => {
    const shared = await lockListingShared(tx, listing.id);
    if (shared === null) throw new Refusal('listing_unavailable');
    mustStep(shared, 'buy');
    await lockHistoriesShared(tx, listing.merchantId, merchant.id);
    const id = await insertFreePurchase(tx, listing.id, merchant.id, new Date(market.clock.now()));
    if (id === null) return;
    await recordSale(tx, market, {
      listingId: listing.id,
      merchantId: listing.merchantId,
      buyerId: merchant.id,
      paidUnits: 0n,
      via: 'free',
      paymentId: null,
      txHash: null,
    });
  });
  const purchase = await findPurchase(market.database, listing.id, { merchantId: merchant.id });
  if (purchase === null) throw new TypeError('free goods were taken without a purchase');
  return await deliverGoods(market, listing.id, { purchase, collectedBy: 'key' });
}

/** Checks a proof that is not in the ledger. A fresh proof shows who controls the wallet. Null if there is nothing to check. */
async function checkFresh(buy: BuyContext): Promise<ProofCheck | null> {
  const { market, payments, request, listing } = buy;
  const { proof } = request;
  if (proof === null) return null;
  if (!isZeroValue(proof) && listing.priceUnits === 0n) return null;
  const check = isZeroValue(proof)
    ? await checkCollecting(buy, proof)
    : await checkProof(market, { proof, terms: purchaseTerms(market, listing) }, payments.readHead);
  if (!('refusal' in check) || check.refusal.reason !== 'payment_check_unavailable') return check;
  // The proof's owner cannot be verified now. If that payer has a payment, no answer may say that paying again is safe.
  const existing = await findPaidOrPending(market.database, listing.id, { payer: proof.authorization.from });
  return { refusal: existing === null ? warnAfterRecovery(market, check.refusal) : refuseUnchecked(check.refusal) };
}

function refuseUnchecked(refusal: Refusal): Refusal {
  return new Refusal(refusal.reason, {
    ...refusal.options,
    doNotPayAgain: true,
    nextStep: 'A payment of that wallet for this listing is known. Send the same request again. Do not pay again.',
  });
}
