import type { ClaimBody } from '../../../contract/payments.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { findWatermark } from '../../payments/chain/store.ts';
import { continueClaim } from '../../payments/paths/direct/continue-claim.ts';
import { findOwnIntent, undecidedRefusal } from '../../payments/paths/direct/name-transaction.ts';
import { type Intent, insertClaim, isClaimOf, rebindPayer } from '../../payments/paths/direct/store.ts';
import { PAYMENT_PATHS } from '../../payments/paths/payment-paths.ts';
import { type DirectPayment, type Payment, unseenRefusal } from '../../payments/payment.ts';
import type { Payments } from '../../payments/payments.ts';
import { pendingBody, pendingHeaders, reviewRefusal } from '../../payments/present-payment.ts';
import { countOpenFees, findByAuthorization, findOpenFee } from '../../payments/store.ts';
import type { Proof } from '../../payments/terms.ts';
import { answerCompletedFee, answerCreated, type ListAnswer, refuseWithoutListing } from '../answer-listing.ts';
import { type CheckedGoods, feeTerms, type ListRequest } from '../list-request.ts';
import { REPEAT_WINDOW_MS } from '../read-goods.ts';
import { findListingByBody } from '../store.ts';

/**
 * Commits the attempt, with the guard entry or draft that it reserves, before the facilitator learns of it. Returns null if another request
 * took the authorization or the body meanwhile; then that request's payment is the answer.
 */
export async function openFee(
  market: Market,
  request: ListRequest,
  checked: CheckedGoods,
  { proof, openedBlock }: { proof: Proof; openedBlock: bigint },
): Promise<Payment | null> {
  return await market.database.transaction(async (tx) => {
    const { merchant } = request;
    await tx.lock(`fees:${merchant.id}`);
    await checkOpenFees(tx, market, merchant.id);
    const payment = await insertAttempt(tx, market, request, { proof, openedBlock });
    if (payment === null) return null;
    await checked.hold(tx, payment);
    return payment;
  });
}

/** Called when a fee is opened, and before the 402, so that no merchant is asked to pay for what would then be refused. */
export async function checkOpenFees(queryable: Queryable, market: Market, merchantId: bigint): Promise<void> {
  const limit = market.config.limits.open_fee_attempts_per_merchant;
  if ((await countOpenFees(queryable, merchantId)) < limit) return;
  throw new Refusal('too_many_open_fees', { detail: `${limit} fees are undecided.`, retryAfterSeconds: 30 });
}

async function insertAttempt(
  tx: Tx,
  market: Market,
  request: ListRequest,
  { proof, openedBlock }: { proof: Proof; openedBlock: bigint },
): Promise<Payment | null> {
  const terms = feeTerms(market, request.subject);
  return await PAYMENT_PATHS.x402.open(market, tx, {
    ...{ purpose: 'listing_fee', listingId: null, merchantId: request.merchant.id, bodyHash: request.bodyHash },
    ...{ payee: terms.payee, valueUnits: terms.valueUnits, proof, openedBlock, deliveryTokenHash: null },
  });
}

/** A claim may end while this code reads it. The next round then finds its listing, or no earlier request. */
const MAX_EARLIER_ROUNDS = 3;

/** Answers with the result of this merchant's earlier request with the same body or this very proof. Null if there is none. */
export async function answerEarlierRequest(
  market: Market,
  payments: Payments,
  request: ListRequest,
): Promise<ListAnswer | null> {
  const { merchant, bodyHash, proof, claim } = request;
  const since = new Date(market.clock.now() - REPEAT_WINDOW_MS);
  for (let round = 0; round < MAX_EARLIER_ROUNDS; round += 1) {
    // Read the fee before the listing, so that a fee that completes in between is found as a listing.
    const open = await findOpenFee(market.database, merchant.id, bodyHash);
    const made = await findListingByBody(market.database, merchant.id, bodyHash, since);
    if (made !== null) return await answerCreated(market, made);
    const presented = await findPresentedPayment(market, proof);
    if (presented !== null && !isOfRequest(presented, request)) throw new Refusal('payment_bound_elsewhere');
    if (claim === null || !isClaimOf(open, claim.intent_id)) {
      const payment = open ?? presented;
      return payment && (await continueFee(market, payments, request, payment));
    }
    // The goods were not checked yet, so this call opens no claim and only continues one that was opened before.
    const answer = await continueFeeClaim(market, payments, request, { claim, checked: null });
    if (answer !== null) return answer;
  }
  return null;
}

export async function findPresentedPayment(market: Market, proof: Proof | null): Promise<Payment | null> {
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
 * Advances a fee as far as proof and chain allow, and answers with its state. Returns null if it ended unpaid or rejected, or is now a
 * credit.
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
      const body = pendingBody(market, current, { watermark, retry: 'same_request', now: market.clock.now() });
      return { status: 202, body, headers: pendingHeaders(market.config.network, current, body) };
    }
  }
}

const MAX_CLAIM_ROUNDS = 4;

/** A claim from the request, with the results of the checks. `checked` is null before the checks; then no new claim is opened. */
interface CheckedClaim<Found extends CheckedGoods | null> {
  claim: ClaimBody;
  checked: Found;
}

/** Charges the fee by direct transfer. Commits the claim, the exact body and the guard entry or draft before it decides on the transfer. */
export async function listWithFeeTransfer(
  market: Market,
  payments: Payments,
  request: ListRequest,
  claimed: CheckedClaim<CheckedGoods>,
): Promise<ListAnswer> {
  for (let round = 0; round < MAX_CLAIM_ROUNDS; round += 1) {
    const answer = await continueFeeClaim(market, payments, request, claimed);
    if (answer !== null) return answer;
  }
  throw new Refusal('payment_preserved', {
    detail: 'Another call for this fee is under way.',
    retryAfterSeconds: 1,
  });
}

/** Returns null if the claim has ended or another request was faster. The next round sees the result. */
async function continueFeeClaim(
  market: Market,
  payments: Payments,
  request: ListRequest,
  { claim, checked }: CheckedClaim<CheckedGoods | null>,
): Promise<ListAnswer | null> {
  const { merchant } = request;
  const intent = await findOwnIntent(market.database, merchant, claim.intent_id, 'listing_fee');
  const signed = { intent, txHash: claim.tx_hash, signature: claim.payer_signature as Hex };
  return await continueClaim<ListAnswer>(market, payments, signed, {
    bodyHash: request.bodyHash,
    checkPayer: async () => {},
    lock: (tx) => tx.lock(`fees:${merchant.id}`),
    openClaim: async (tx, payer) => checked && (await openFeeClaim(tx, market, request, { intent, payer, checked })),
    mustBeSame: async (tx, standing) => {
      if (!isOfBody(standing, request)) throw await undecidedRefusal(tx, market, standing);
    },
    rebind: (tx, standing, payer) => rebindPayer(tx, standing.id, payer, new Date(market.clock.now())),
    answerCompletedClaim: (payment) => answerCompleted(market, request, payment),
  });
}

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

async function openFeeClaim(
  tx: Tx,
  market: Market,
  { merchant, bodyHash }: ListRequest,
  { intent, payer, checked }: { intent: Intent; payer: Hex; checked: CheckedGoods },
): Promise<DirectPayment | null> {
  await checkOpenFees(tx, market, merchant.id);
  const opened = await insertClaim(market, tx, { intent, payer, bodyHash, surplus: false });
  if (opened !== null) {
    await checked.hold(tx, opened);
    return opened;
  }
  const rival = await findOpenFee(tx, merchant.id, bodyHash);
  if (rival !== null) throw await undecidedRefusal(tx, market, rival);
  return null;
}
