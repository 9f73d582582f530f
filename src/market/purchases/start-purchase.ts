import type { Reason } from '../../contract/errors.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { isOutcomeUnknown } from '../../platform/database/database-error.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { mustBeOnNetwork } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { isSellerWallet, type ListingTerms, lockListingShared } from '../listings/store.ts';
import { PAYMENT_PATHS } from '../payments/paths/payment-paths.ts';
import { mustHaveFunds, mustNotLag, type ProofCheck } from '../payments/paths/x402/check-proof.ts';
import { belowMinimumPrice } from '../payments/paths/x402/facilitator.ts';
import { paymentRequired } from '../payments/paths/x402/payment-required.ts';
import type { Payment } from '../payments/payment.ts';
import { mustNotBePaid } from '../payments/payment-guards.ts';
import type { Proof } from '../payments/terms.ts';
import { answerPayment } from './answer-payment.ts';
import { type BuyContext, type BuyRequest, findInLedger, findPaymentsOf, purchaseTerms } from './buy-request.ts';
import { askToCollect, collectorOf } from './collecting.ts';
import type { BuyAnswer } from './deliver.ts';
import {
  addTokenToAnswer,
  checkOpeningToken,
  readClientTokenHash,
  refuseWithToken,
  tokenHashOf,
} from './delivery-token.ts';
import { isEarlierBuyer } from './store.ts';

export interface RequestFindings {
  ledgerPayment: Payment | null;
  check: ProofCheck | null;
  signedBy: Hex | null;
  /** The payment that this very proof opened. Null if it opened none. */
  ownPayment: Payment | null;
}

/** Asks for a payment or opens one. Returns null if a concurrent request opened it first. */
export async function startPurchase(buy: BuyContext, findings: RequestFindings): Promise<BuyAnswer | null> {
  const { market, request } = buy;
  // Make the token before the row, so that even the answer to a commit with unknown outcome contains it. A client that sent its own token
  // gets no other.
  const isIssued = request.merchant === null && request.token?.form !== 'own';
  const token = isIssued ? market.random.bytes(32).toString('base64url') : null;
  return await limitAttempts(request, async () => {
    const payment = await openOrRefuse(buy, findings, token);
    if (payment === null) return null;
    const collector = { ...collectorOf(request, null), tokenHash: payment.deliveryTokenHash };
    return await addTokenToAnswer(market, token, () => answerPayment(buy, payment, collector));
  });
}

/**
 * Returns null if another request opened this very payment meanwhile. Then its nonce may be used, its money gone and the listing withdrawn.
 * A refusal for any of these would turn away a buyer who has paid, or ask that buyer to pay again.
 */
async function openOrRefuse(buy: BuyContext, findings: RequestFindings, token: string | null): Promise<Payment | null> {
  const { market, request, listing } = buy;
  try {
    const { proof, floor } = await checkPurchase(buy, findings);
    const clientTokenHash = await readClientTokenHash(market, request);
    return await openPurchase(market, {
      ...{ request, listing, proof, floor },
      token: token === null ? clientTokenHash : tokenHashOf(token),
    });
  } catch (error) {
    if (token !== null && isOutcomeUnknown(error)) throw refuseWithToken(market, token, error);
    if (!(error instanceof Refusal)) throw error;
    if (await hasPaymentArrived(market, request, findings)) return null;
    throw warnOfUnseenPayment(error, request, findings);
  }
}

/**
 * Adds "do not pay again" if the proof identifies no wallet (it has expired or is for other goods), because its wallet may have a payment
 * under way. Leaves refusals of the proof itself, which already say so, and 402s. A 402 asks for a new proof, and a new proof that
 * identifies the wallet finds that payment.
 */
function warnOfUnseenPayment(refusal: Refusal, { proof }: BuyRequest, { check, signedBy }: RequestFindings): Refusal {
  const { reason, row, options } = refusal;
  const isOfProof = check !== null && 'refusal' in check && check.refusal === refusal;
  if (proof === null || signedBy !== null || isOfProof || row.status === 402) return refusal;
  return new Refusal(reason, { ...options, doNotPayAgain: true });
}

async function hasPaymentArrived(
  market: Market,
  request: BuyRequest,
  { ledgerPayment, signedBy }: RequestFindings,
): Promise<boolean> {
  const inLedger = await findInLedger(market, request);
  if (inLedger !== null && inLedger.id !== ledgerPayment?.id) return true;
  return (await findPaymentsOf(market, request, { signedBy, ownPayer: null })).length > 0;
}

/** Makes every check that is possible before a row is opened, and returns the proof. */
async function checkPurchase(
  { market, payments, request, listing }: BuyContext,
  { check, signedBy }: RequestFindings,
): Promise<{ proof: Proof; floor: bigint }> {
  if (request.proof !== null) checkOpeningToken(request);
  if (request.collectOnly) throw refuseCollection(market, request, listing, check);
  await checkSale(market, request, listing, signedBy);
  const terms = purchaseTerms(market, listing);
  mustReachFloor(market, listing);
  // Tell a payer about a known payment first, even if it is unknown whether the payee could receive another one.
  if (check !== null && 'refusal' in check && check.refusal.options.doNotPayAgain) throw check.refusal;
  await payments.payees.mustReceive(terms.payee);
  await payments.x402Gate.beforeSigning(terms, check);
  if (request.proof === null || check === null) {
    const detail = `This listing costs ${usdcOfUnits(listing.priceUnits)} USDC.`;
    throw withTokenPrefix(market, request, paymentRequired(market.config, terms, 'payment_required', detail));
  }
  if ('refusal' in check) throw check.refusal;
  mustNotLag(market.clock, check.latest);
  const { payee, valueUnits } = terms;
  await mustNotBePaid(market, payments.readHead, { payer: check.payer, payee, valueUnits, payAnew: request.payAnew });
  mustHaveFunds(market.config, terms, check.balanceUnits);
  await payments.x402Gate.mustBeOffered(terms, check.payer);
  return { proof: request.proof, floor: check.floor };
}

/** Tells a keyless client the prefix of its own token, so that it can make and keep one before it sends anything. */
function withTokenPrefix({ config }: Market, { merchant }: BuyRequest, required: Refusal): Refusal {
  if (merchant !== null) return required;
  const fields = { ...required.options.fields, delivery_token_prefix: `${config.keyPrefix}_dt_` };
  return new Refusal(required.reason, { ...required.options, fields });
}

function mustReachFloor({ config }: Market, { priceUnits }: ListingTerms): void {
  const floor = BigInt(config.limits.x402_floor_units);
  if (priceUnits < floor) throw belowMinimumPrice(floor, 'This market takes no smaller sums by x402.');
}

/** Asks a caller who only collects for a proof, in every state of the listing, because such a proof is never settled. */
function refuseCollection(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  check: ProofCheck | null,
): Refusal {
  if (check === null) return askToCollect(market.config, request, listing);
  return 'refusal' in check ? check.refusal : new Refusal('nothing_to_collect');
}

/** Requires that the listing is for sale, belongs to another merchant and costs no more than the buyer's limit. */
async function checkSale(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  signedBy: Hex | null,
): Promise<void> {
  mustStep(listing, 'buy');
  mustBeOnNetwork(market, listing);
  if (request.merchant?.id === listing.merchantId) throw new Refusal('own_goods');
  if (signedBy !== null && (await isSellerWallet(market.database, listing.merchantId, signedBy))) {
    throw new Refusal('own_goods', { detail: 'The payer is a wallet to which this merchant sells.' });
  }
  if (request.maxPriceUnits !== null && listing.priceUnits > request.maxPriceUnits) {
    throw new Refusal('price_above_limit', { detail: `The price is ${usdcOfUnits(listing.priceUnits)} USDC.` });
  }
}

/** Refusals after which an opened row remains unverified. */
const UNVERIFIED: ReadonlySet<Reason> = new Set([
  ...(['verification_pending', 'payment_rejected', 'facilitator_refused'] as const),
  ...(['listing_changed', 'listing_removed'] as const),
]);

/**
 * Limits unverified rows per caller, because anyone can sign for an empty wallet and every round reads such a row until it expires. Gives
 * the attempt back if the row was verified or never opened.
 */
async function limitAttempts<T>({ proof, takeAttempt }: BuyRequest, open: () => Promise<T>): Promise<T> {
  if (proof === null) return await open();
  const taken = takeAttempt();
  let staysUnverified = false;
  try {
    return await open();
  } catch (error) {
    staysUnverified = !(error instanceof Refusal) || UNVERIFIED.has(error.reason);
    throw error;
  } finally {
    taken.adjustTo(staysUnverified ? 1 : 0);
  }
}

interface PurchaseToOpen {
  request: Pick<BuyRequest, 'merchant'>;
  listing: ListingTerms;
  proof: Proof;
  /** The highest block accepted as final when the nonce was read as unused. */
  floor: bigint;
  /** Hash of the token that may collect. Null for a caller with a key. */
  token: Buffer | null;
}

/**
 * Commits the attempt before the facilitator learns of it, with terms and state read under a share lock on the listing. Returns null if
 * another attempt already has the unique authorization, payer or merchant, and is then the answer. Also returns null if an older version
 * entitles this buyer meanwhile, so that nothing is due.
 */
export async function openPurchase(market: Market, opening: PurchaseToOpen): Promise<Payment | null> {
  const { request } = opening;
  const { authorization } = opening.proof;
  return await market.database.transaction(async (tx) => {
    const { id } = opening.listing;
    const buyer = { merchantId: request.merchant?.id ?? null, payer: authorization.from };
    const [shared, entitled] = await Promise.all([lockListingShared(tx, id), isEarlierBuyer(tx, id, buyer)]);
    if (shared === null) throw new Refusal('listing_unavailable');
    mustStep(shared, 'buy');
    if (entitled) return null;
    return await PAYMENT_PATHS.x402.open(market, tx, {
      ...{ purpose: 'purchase', listingId: shared.id, merchantId: buyer.merchantId, bodyHash: null },
      ...{ payee: shared.sellerWallet, valueUnits: shared.priceUnits },
      ...{ proof: opening.proof, openedBlock: opening.floor, deliveryTokenHash: opening.token },
    });
  });
}
