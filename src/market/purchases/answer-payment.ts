import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { ListingTerms } from '../listings/store.ts';
import { findWatermark } from '../payments/chain/store.ts';
import { pathOf } from '../payments/paths/payment-paths.ts';
import { type Payment, stoppedRefusal, unseenRefusal } from '../payments/payment.ts';
import { pendingBody, pendingHeaders, reviewRefusal, slipField } from '../payments/present-payment.ts';
import { type BuyContext, purchaseTerms } from './buy-request.ts';
import { type Collector, collectedBy, mayCollect, signToCollect } from './collecting.ts';
import { type BuyAnswer, deliverGoods } from './deliver.ts';
import { findPurchase } from './store.ts';

/** Advances a payment as far as request and chain allow, and answers with its state. Null if it ended unpaid or was rejected. */
export async function answerPayment(
  buy: BuyContext,
  payment: Payment,
  collector: Collector,
): Promise<BuyAnswer | null> {
  try {
    return await answerByStatus(buy, payment, collector);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const fields = {
      ...error.options.fields,
      collected_by: collectedBy(collector, payment, payment.deliveryTokenHash),
      ...slipField(buy.market, payment),
    };
    throw new Refusal(error.reason, { ...error.options, fields });
  }
}

async function answerByStatus(buy: BuyContext, payment: Payment, collector: Collector): Promise<BuyAnswer | null> {
  const { market, payments, request, listing } = buy;
  // Submit a proof only if it is the payment's own (see `advance`) and the request does more than collect.
  const proof = request.collectOnly ? null : request.proof;
  const { current, refusal } = await payments.advance(payment, proof, purchaseTerms(market, listing));
  switch (current.status) {
    case 'completed':
      return await answerCompleted(market, current, listing, collector);
    case 'needs_review':
      throw reviewRefusal(current, await findWatermark(market.database, current.chainId), market.clock.now());
    case 'unpaid':
    case 'rejected':
      return null;
    case 'verifying':
    case 'settling':
      return await answerUndecided(buy, current, { collector, refusal });
  }
}

async function answerCompleted(
  market: Market,
  payment: Payment,
  listing: ListingTerms,
  collector: Collector,
): Promise<BuyAnswer> {
  market.crashPoint('after_commit_before_answer');
  const purchase = await findPurchase(market.database, listing.id, { paymentId: payment.id });
  if (purchase === null) throw new TypeError('a completed payment without its purchase');
  const { deliveryTokenHash } = payment;
  if (!mayCollect(collector, purchase, deliveryTokenHash)) throw signToCollect();
  return await deliverGoods(market, listing.id, {
    purchase,
    collectedBy: collectedBy(collector, purchase, deliveryTokenHash),
    payment,
  });
}

async function answerUndecided(
  { market, request, listing }: BuyContext,
  payment: Payment,
  { collector, refusal }: { collector: Collector; refusal: Refusal | null },
): Promise<BuyAnswer> {
  if (payment.status === 'verifying' && payment.txHash === null) {
    if (listing.removedAt !== null) throw new Refusal('listing_removed');
    if (payment.stoppedAt !== null) {
      throw stoppedRefusal(pathOf(payment).present.expiresAt(payment), market.clock.now());
    }
  }
  if (payment.txHash === null && !request.collectOnly) throw refusal ?? unseenRefusal(payment);
  const watermark = await findWatermark(market.database, payment.chainId);
  const retry = request.proof === null ? 'same_request' : 'same_proof';
  const body = {
    ...pendingBody(market, payment, { watermark, retry, now: market.clock.now() }),
    collected_by: collectedBy(collector, payment, payment.deliveryTokenHash),
  };
  return { status: 202, body, headers: pendingHeaders(market.config.network, payment, body) };
}
