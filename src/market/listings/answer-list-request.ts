import type { Reason } from '../../contract/errors.ts';
import { LISTING_FEE_TEXT } from '../../contract/money.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { withUncheckedNote } from '../payments/paths/direct/name-transaction.ts';
import { reviewOfUnproven } from '../payments/paths/direct/unproven-claim.ts';
import { findOpenUnproven } from '../payments/paths/direct/unproven-store.ts';
import { checkProof, mustHaveFunds, mustNotLag } from '../payments/paths/x402/check-proof.ts';
import { endedRefusal, paymentRequired } from '../payments/paths/x402/payment-required.ts';
import type { Payment } from '../payments/payment.ts';
import { mustNotBePaid, warnAfterRecovery } from '../payments/payment-guards.ts';
import type { Payments } from '../payments/payments.ts';
import { answerCreated, type ListAnswer, refuseWithoutListing } from './answer-listing.ts';
import {
  answerEarlierRequest,
  checkOpenFees,
  continueFee,
  findPresentedPayment,
  listWithFeeTransfer,
  openFee,
} from './fees/fee-payment.ts';
import { countCredits, takeCredit } from './fees/store.ts';
import { type CheckedGoods, feeTerms, type ListRequest } from './list-request.ts';

/**
 * Refusals that a request may get because a concurrent copy of it succeeded. That copy may have taken the guard entry or the draft,
 * superseded the old listing, taken the upload, listed the offer so that a buyer reserved it, used the authorization and its money, spent the
 * credit (so that another fee is requested), or reached the limit on guard runs or on open fees. `city_unavailable` is included because an unreachable city
 * may hide any of these.
 */
const MAY_BE_SELF_CAUSED: ReadonlySet<Reason> = new Set<Reason>([
  'duplicate_listing',
  'already_superseded',
  'upload_in_use',
  'upload_ended',
  'draft_closed',
  'draft_fee_pending',
  'offer_mismatch',
  'offer_not_open',
  'city_unavailable',
  'authorization_used_elsewhere',
  'payment_invalid',
  'signature_invalid',
  'payer_contract_refused',
  'payer_not_deployed',
  'insufficient_funds',
  'payment_required',
  'x402_not_offered',
  'settlement_unavailable',
  'too_many_open_fees',
  'rate_limited',
  'payment_undecided',
  'transaction_used',
]);

/** Answers with an earlier identical request's result, or checks the request and charges the fee. If no fee is due, uses no payment. */
export async function answerListRequest(market: Market, payments: Payments, request: ListRequest): Promise<ListAnswer> {
  try {
    return await answerOrList(market, payments, request);
  } catch (error) {
    throw error instanceof Refusal ? await warnOfUnspentFee(market, request, error) : error;
  }
}

async function answerOrList(market: Market, payments: Payments, request: ListRequest): Promise<ListAnswer> {
  const earlier = await answerEarlierRequest(market, payments, request);
  if (earlier !== null) return earlier;
  try {
    return await listAnew(market, payments, request);
  } catch (error) {
    // If a copy of this request succeeded, return its result, and never a 402 to a merchant who has paid.
    const mayBeOwn = error instanceof Refusal && MAY_BE_SELF_CAUSED.has(error.reason);
    const rival = mayBeOwn ? await answerEarlierRequest(market, payments, request) : null;
    if (rival === null) throw error;
    return rival;
  }
}

/** Adds "do not pay again" if the merchant has sent a transfer or has an unspent fee that this listing cannot use. */
async function warnOfUnspentFee(market: Market, request: ListRequest, refusal: Refusal): Promise<Refusal> {
  const { claim, merchant } = request;
  const { reason, row, options } = refusal;
  const isSaidAlready = (options.doNotPayAgain ?? row.do_not_pay_again) === true;
  if (isSaidAlready || row.status === 402 || reason === 'transfer_not_found') return refusal;
  const hasCredit = claim === null && (await countCredits(market.database, merchant.id)) > 0n;
  if (claim === null && !hasCredit) return refusal;
  const nextStep = nextStepUnspent(request, reason, hasCredit);
  return new Refusal(reason, { ...options, doNotPayAgain: true, nextStep });
}

function nextStepUnspent({ subject }: ListRequest, reason: Reason, hasCredit: boolean): string {
  if (reason === 'city_unavailable' || reason === 'unavailable')
    return 'Send the same request again, with the same payment. Do not pay again.';
  if (reason === 'upload_ended') return UPLOAD_AGAIN;
  return hasCredit
    ? 'A fee that was paid is unspent and pays for the next listing. Mend what detail names. Do not pay again.'
    : `The transfer was not taken up: send the same fee_payment with ${subject.noun} that can be listed. Do not pay again.`;
}

const UPLOAD_AGAIN =
  'Upload the goods again, then send the same request with the new id. The fee is not due again: do not pay again.';

async function listAnew(market: Market, payments: Payments, request: ListRequest): Promise<ListAnswer> {
  const checked = await request.subject.check();
  const freeListingId = await listWithoutFee(market, request, checked);
  if (freeListingId !== null) return await answerCreated(market, freeListingId);
  return await listWithFee(market, payments, request, checked);
}

/** Lists free for the maintainer, or spends the merchant's unspent fee before another one is requested. Returns null if a fee is due. */
async function listWithoutFee(
  market: Market,
  { merchant }: ListRequest,
  checked: CheckedGoods,
): Promise<bigint | null> {
  return await market.database.transaction(async (tx) => {
    const feeId = merchant.maintainer ? null : await takeCredit(tx, merchant.id);
    if (feeId === null && !merchant.maintainer) return null;
    return await checked.list(tx, feeId);
  });
}

async function listWithFee(
  market: Market,
  payments: Payments,
  request: ListRequest,
  checked: CheckedGoods,
): Promise<ListAnswer> {
  const { proof, merchant, claim } = request;
  await mustHaveNoOpenClaim(market, request);
  if (claim !== null) return await listWithFeeTransfer(market, payments, request, { claim, checked });
  const terms = feeTerms(market, request.subject);
  await checkOpenFees(market.database, market, merchant.id);
  await payments.payees.mustReceive(terms.payee);
  if (proof === null) {
    await payments.x402Gate.beforeSigning(terms, null);
    throw paymentRequired(market.config, terms, 'payment_required', `A listing costs ${LISTING_FEE_TEXT}.`);
  }
  const presented = await findPresentedPayment(market, proof);
  if (presented !== null) return await answerPresented(market, payments, request, presented);
  const check = await checkProof(market, { proof, terms }, payments.readHead);
  await payments.x402Gate.beforeSigning(terms, check);
  if ('refusal' in check) throw warnAfterRecovery(market, check.refusal);
  mustNotLag(market.clock, check.latest);
  const { payee, valueUnits } = terms;
  await mustNotBePaid(market, payments.readHead, { payer: check.payer, payee, valueUnits, payAnew: request.payAnew });
  mustHaveFunds(market.config, terms, check.balanceUnits);
  await payments.x402Gate.mustBeOffered(terms, check.payer);
  const payment = await openFee(market, request, checked, { proof, openedBlock: check.floor });
  if (payment === null)
    return await answerPresented(market, payments, request, await findPresentedPayment(market, proof));
  return (
    (await continueFee(market, payments, request, payment)) ?? (await refuseEnded(market, payments, request, payment))
  );
}

/** Refuses another payment while an unsigned claim for the same fee awaits its payee, unless the request claims that transfer or intent. */
async function mustHaveNoOpenClaim(market: Market, { merchant, bodyHash, claim }: ListRequest): Promise<void> {
  const unproven = await findOpenUnproven(market.database, merchant.id, { bodyHash });
  if (unproven === null) return;
  const refusal = await reviewOfUnproven(market, unproven);
  if (claim === null) throw refusal;
  if (claim.intent_id === unproven.intentId || claim.tx_hash === unproven.transfer.txHash) return;
  throw withUncheckedNote(refusal, claim.tx_hash);
}

/** Answers with the payment of a concurrent copy of this request that came first. Refuses if that payment ended without a listing. */
async function answerPresented(
  market: Market,
  payments: Payments,
  request: ListRequest,
  presented: Payment | null,
): Promise<ListAnswer> {
  const earlier = await answerEarlierRequest(market, payments, request);
  return earlier ?? (await refuseEnded(market, payments, request, presented));
}

/** Refuses because the payment ended without a listing: unpaid, refunded, declined, or paid but not spent on it. */
async function refuseEnded(
  market: Market,
  payments: Payments,
  { subject }: ListRequest,
  ended: Payment | null,
): Promise<never> {
  const payment = ended && (await payments.reread(ended));
  if (payment?.status === 'completed') throw await refuseWithoutListing(market, payment, subject);
  throw endedRefusal(market.config, feeTerms(market, subject), payment);
}
