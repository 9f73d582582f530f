import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { pendingBody, pendingHeaders, reviewRefusal } from '../payments/answer-pending.ts';
import { findWatermark } from '../payments/head/store.ts';
import { isClaimOf } from '../payments/paths/direct/store.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { unseenRefusal } from '../payments/refusals.ts';
import { findByAuthorization, findOpenFee } from '../payments/store.ts';
import type { Proof } from '../payments/terms.ts';
import { answerCreated, type ListAnswer } from './answer-created.ts';
import { answerCompletedFee } from './answer-fee.ts';
import { continueFeeClaim } from './list-by-transfer.ts';
import { feeTerms, type ListRequest } from './list-request.ts';
import { MEMORY_MS } from './memory.ts';
import { findListingByBody } from './store.ts';

/** A claim may end while it is looked at; then there is a listing, or nothing any more. */
const MAX_ROUNDS = 3;

/** What this merchant's earlier request with the same body, or this very proof, already amounts to; null when there is none. */
export async function answerEarlier(
  market: Market,
  payments: Payments,
  request: ListRequest,
): Promise<ListAnswer | null> {
  const { merchant, bodyHash, proof, claim } = request;
  const since = new Date(market.clock.now() - MEMORY_MS);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    // The fee before the listing: one that is completed between the two readings is found as a listing.
    const open = await findOpenFee(market.database, merchant.id, bodyHash);
    const made = await findListingByBody(market.database, merchant.id, bodyHash, since);
    if (made !== null) return await answerCreated(market, made);
    const presented = await findPresented(market, proof);
    if (presented !== null && !isOfRequest(presented, request)) throw new Refusal('payment_bound_elsewhere');
    if (claim === null || !isClaimOf(open, claim.intent_id)) {
      const payment = open ?? presented;
      return payment && (await continueFee(market, payments, request, payment));
    }
    // Nothing of it was checked yet: so this only goes on with what was opened before.
    const answer = await continueFeeClaim(market, payments, request, { claim, checked: null });
    if (answer !== null) return answer;
  }
  return null;
}

/** The fee or purchase that this proof opened. */
export async function findPresented(market: Market, proof: Proof | null): Promise<Payment | null> {
  if (proof === null) return null;
  const { network } = market.config;
  return await findByAuthorization(market.database, {
    chainId: network.chainId,
    asset: network.usdc,
    payer: proof.authorization.from,
    nonce: proof.authorization.nonce,
  });
}

function isOfRequest(payment: Payment, request: ListRequest): boolean {
  return (
    payment.purpose === 'listing_fee' &&
    payment.merchantId === request.merchant.id &&
    payment.bodyHash?.equals(request.bodyHash) === true
  );
}

/**
 * Moves a fee on as far as the proof and the chain allow, and says where it stands. Null: it ended unpaid, or it is paid and is a
 * credit now.
 */
export async function continueFee(
  market: Market,
  payments: Payments,
  { proof, subject }: ListRequest,
  payment: Payment,
): Promise<ListAnswer | null> {
  const terms = feeTerms(market, subject, payment);
  const { current, refusal } = await payments.advance(payment, proof, terms);
  switch (current.status) {
    case 'completed':
      return await answerCompletedFee(market, current);
    case 'unpaid':
    case 'rejected':
      return null;
    case 'needs_review':
      throw reviewRefusal(current, await findWatermark(market.database, current.chainId), market.clock.now());
    case 'verifying':
    case 'settling': {
      if (current.txHash === null && refusal !== null) throw refusal;
      if (current.txHash === null && current.status === 'verifying') throw unseenRefusal(current);
      const watermark = await findWatermark(market.database, current.chainId);
      const body = pendingBody(market, current, watermark, 'same_request', market.clock.now());
      return { status: 202, body, headers: pendingHeaders(market.config.network, current, body) };
    }
  }
}
