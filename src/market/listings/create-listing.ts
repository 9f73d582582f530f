import type { Reason } from '../../contract/errors.ts';
import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { countCredits, takeCredit } from '../fees/store.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { askAnew } from '../payments/x402/ask-anew.ts';
import { askPayment } from '../payments/x402/ask-payment.ts';
import { checkBalance, checkProof } from '../payments/x402/check-proof.ts';
import { readProof } from '../payments/x402/read-proof.ts';
import { addListing } from './add-listing.ts';
import { answerCreated, type CreateAnswer } from './answer-created.ts';
import { refuseWithoutListing } from './answer-fee.ts';
import { checkGoods, duplicate, takeGuardRun } from './check-goods.ts';
import { answerEarlier, continueFee, findPresented } from './continue-fee.ts';
import { listByTransfer } from './list-by-transfer.ts';
import { feeTerms, type ListRequest } from './list-request.ts';
import { MEMORY_MS } from './memory.ts';
import type { Shape } from './near/shape.ts';
import { checkOpenFees, openFee } from './open-fee.ts';
import { bodyHashOf, guardKeyOf, readGoods } from './read-goods.ts';
import { readVersion } from './read-version.ts';
import { findGuard, holdGuard } from './store.ts';

type CreateCall = MarketCall<Endpoints['createListing']>;

/**
 * What a request is refused for when the same one, sent at once, came through: it holds the place of the goods, superseded what they
 * are to supersede, used the nonce and the money, spent the credit without which another fee is asked, and took runs and one of the
 * open fees.
 */
const MAY_BE_OWN_DOING: ReadonlySet<Reason> = new Set<Reason>([
  'duplicate_listing',
  'already_superseded',
  'authorization_used_elsewhere',
  'payment_invalid',
  'payment_required',
  'too_many_open_fees',
  'rate_limited',
  'payment_undecided',
  'transaction_used',
]);

/** POST /api/listing (W6): earlier request, checks, then the fee. A proof that comes where no fee is due is left alone. */
export function makeCreateListing(payments: Payments): MarketOperation<Endpoints['createListing']> {
  return async (market, call) => {
    const request = readRequest(market, call);
    if (call.query.dry_run === 'true') return await dryRun(market, request);
    try {
      return await answerOrList(market, payments, request);
    } catch (error) {
      throw error instanceof Refusal ? await keepFromPaying(market, request, error) : error;
    }
  };
}

async function answerOrList(market: Market, payments: Payments, request: ListRequest): Promise<CreateAnswer> {
  const earlier = await answerEarlier(market, payments, request);
  if (earlier !== null) return earlier;
  try {
    return await listAnew(market, payments, request);
  } catch (error) {
    // Then the one that came through is the answer, and never a 402 to somebody who has paid.
    const bySelf = error instanceof Refusal && MAY_BE_OWN_DOING.has(error.reason);
    const rival = bySelf ? await answerEarlier(market, payments, request) : null;
    if (rival === null) throw error;
    return rival;
  }
}

/** Whose goods cannot be listed, and who has sent a transfer or has a fee unspent, is not told that paying is safe. */
async function keepFromPaying(market: Market, { claim, merchant }: ListRequest, refusal: Refusal): Promise<Refusal> {
  const { reason, row, options } = refusal;
  const isSaid = (options.doNotPayAgain ?? row.do_not_pay_again) === true;
  if (isSaid || row.status === 402 || reason === 'transfer_not_found') return refusal;
  const hasCredit = claim === null && (await countCredits(market.database, merchant.id)) > 0n;
  if (claim === null && !hasCredit) return refusal;
  const nextStep = hasCredit
    ? 'A fee that was paid is unspent and pays for the next listing. Mend what detail names. Do not pay again.'
    : 'The transfer was not taken up: send the same fee_payment with goods that can be listed. Do not pay again.';
  return new Refusal(reason, { ...options, doNotPayAgain: true, nextStep });
}

async function listAnew(market: Market, payments: Payments, request: ListRequest): Promise<CreateAnswer> {
  await takeGuardRun(market, request);
  const shape = await checkGoods(market, request);
  const free = await listWithoutFee(market, request, shape);
  if (free !== null) return await answerCreated(market, free);
  return await listWithFee(market, payments, request);
}

function readRequest(market: Market, call: CreateCall): ListRequest {
  const { fee_payment: claim, ...body } = call.body;
  const goods = readGoods(body, market.config.limits);
  // How the fee is paid is no part of what is listed: the same goods with another payment are the same request.
  const rawBody = withoutFeePayment(call.rawBody);
  const proof = readProof(call.payment);
  if (proof !== null && claim !== undefined) {
    throw new Refusal('two_proofs', { detail: 'A fee is paid by x402 or by fee_payment, never by both.' });
  }
  return {
    merchant: call.caller,
    goods,
    version: readVersion(body),
    rawBody,
    bodyHash: bodyHashOf(rawBody),
    guardKey: guardKeyOf(goods, call.caller.id),
    proof,
    claim: claim ?? null,
  };
}

function withoutFeePayment(rawBody: unknown): unknown {
  if (typeof rawBody !== 'object' || rawBody === null) return rawBody;
  const { fee_payment: _, ...goods } = rawBody as Record<string, unknown>;
  return goods;
}

async function dryRun(market: Market, request: ListRequest): Promise<CreateAnswer> {
  await takeGuardRun(market, request);
  await checkGoods(market, request);
  const free = request.merchant.maintainer || (await countCredits(market.database, request.merchant.id)) > 0n;
  return { status: 200, body: { dry_run: true, would_cost_usdc: free ? 0 : usdcOfUnits(LISTING_FEE_UNITS) } };
}

/** The maintainer's listings are free, and a merchant's unspent fee is spent before another is asked for. Null: a fee is due. */
async function listWithoutFee(market: Market, request: ListRequest, shape: Shape | null): Promise<bigint | null> {
  return await market.database.transaction(async (tx) => {
    const { merchant, goods, version, bodyHash } = request;
    const feeId = merchant.maintainer ? null : await takeCredit(tx, merchant.id);
    if (feeId === null && !merchant.maintainer) return null;
    const toAdd = { merchantId: merchant.id, goods, shape, version, bodyHash, feeId };
    const { id, line } = await addListing(tx, market, toAdd);
    const now = market.clock.now();
    const owner = { merchantId: merchant.id, listingId: id, paymentId: null };
    const term = { until: new Date(now + MEMORY_MS), now: new Date(now), line };
    const held = await holdGuard(tx, request.guardKey, owner, term);
    if (!held) throw duplicate(merchant.id, (await findGuard(tx, request.guardKey, term.now)) ?? owner);
    return id;
  });
}

async function listWithFee(market: Market, payments: Payments, request: ListRequest): Promise<CreateAnswer> {
  if (request.claim !== null) return await listByTransfer(market, payments, request, request.claim);
  const terms = feeTerms(market);
  const { proof, merchant } = request;
  await checkOpenFees(market.database, market, merchant.id);
  await payments.payees.mustReceive(terms.payee);
  if (proof === null) throw askPayment(market.config, terms, 'payment_required', 'A listing costs 1 USDC.');
  const presented = await findPresented(market, proof);
  if (presented !== null) return await answerPresented(market, payments, request, presented);
  const check = await checkProof(market, proof, terms, payments.readHead);
  if ('refusal' in check) throw check.refusal;
  const poor = await checkBalance(market, proof, terms);
  if (poor !== null) throw poor;
  const payment = await openFee(market, request, proof, check.floor);
  if (payment === null) return await answerPresented(market, payments, request, await findPresented(market, proof));
  return (await continueFee(market, payments, payment, proof)) ?? (await refuseEnded(market, payments, payment));
}

/** The same request, sent at once, was first: then its payment is the answer, whatever has become of it. */
async function answerPresented(
  market: Market,
  payments: Payments,
  request: ListRequest,
  presented: Payment | null,
): Promise<CreateAnswer> {
  return (await answerEarlier(market, payments, request)) ?? (await refuseEnded(market, payments, presented));
}

/** A payment that answers nothing any more ended unpaid, was given back or declined, or is paid and its goods could not go live. */
async function refuseEnded(market: Market, payments: Payments, ended: Payment | null): Promise<never> {
  const payment = ended && (await payments.reread(ended));
  if (payment?.status === 'completed') throw await refuseWithoutListing(market, payment);
  throw askAnew(market.config, feeTerms(market), payment);
}
