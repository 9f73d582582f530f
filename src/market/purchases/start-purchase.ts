import type { Reason } from '../../contract/errors.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { isOutcomeUnknown } from '../../platform/database/database-error.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { mustBeOnNetwork } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { isSellerWallet, type ListingTerms, shareListing } from '../listings/store.ts';
import { PAYMENT_PATHS } from '../payments/paths/payment-paths.ts';
import { mustHold, mustMoveOn, type ProofCheck } from '../payments/paths/x402/check-proof.ts';
import { belowLeastPrice } from '../payments/paths/x402/facilitator.ts';
import { paymentRequired } from '../payments/paths/x402/payment-required.ts';
import type { Payment } from '../payments/payment.ts';
import { mustNotBePaid } from '../payments/payment-guards.ts';
import type { Payments } from '../payments/payments.ts';
import type { Proof } from '../payments/terms.ts';
import { answerPayment } from './answer-payment.ts';
import { type BuyRequest, findInLedger, findPaymentsOf, purchaseTerms } from './buy-request.ts';
import { askToCollect, collectorOf } from './collecting.ts';
import type { BuyAnswer } from './deliver.ts';
import { mustBeOpening, refuseWithToken, takeClientToken, tokenHashOf, withToken } from './delivery-token.ts';
import { isEarlierBuyer } from './store.ts';

/** What was found about a request before the listing has its say. */
export interface RequestFindings {
  known: Payment | null;
  check: ProofCheck | null;
  signedBy: Hex | null;
  /** The payment of this very proof, if it ended unpaid. */
  lapsed: Payment | null;
}

/** Steps four and five of W7: a payment is asked for, or begun. Null when a rival request began it first. */
export async function startPurchase(
  market: Market,
  payments: Payments,
  request: BuyRequest,
  listing: ListingTerms,
  found: RequestFindings,
): Promise<BuyAnswer | null> {
  // Made before the row, so that even an answer to a commit that was never heard of carries it. Who brings one of its own has it.
  const isGiven = request.merchant === null && request.token?.form !== 'own';
  const token = isGiven ? market.random.bytes(32).toString('base64url') : null;
  return await limitAttempts(request, async () => {
    const payment = await openOrRefuse(market, payments, request, listing, found, token);
    if (payment === null) return null;
    const collector = { ...collectorOf(request, null), tokenHash: payment.deliveryTokenHash };
    return await withToken(market, token, () => answerPayment(market, payments, payment, request, listing, collector));
  });
}

/**
 * Null when this very payment came through in another request meanwhile. Then its nonce is used, its money gone and the listing
 * perhaps withdrawn. A refusal for any of that would send a buyer away who has paid, or ask that buyer to pay again.
 */
async function openOrRefuse(
  market: Market,
  payments: Payments,
  request: BuyRequest,
  listing: ListingTerms,
  found: RequestFindings,
  token: string | null,
): Promise<Payment | null> {
  try {
    const { proof, floor } = await checkPurchase(market, payments, request, listing, found);
    const brought = await takeClientToken(market, request);
    return await openPurchase(market, {
      ...{ request, listing, proof, floor },
      token: token === null ? brought : tokenHashOf(token),
    });
  } catch (error) {
    if (token !== null && isOutcomeUnknown(error)) throw refuseWithToken(market, token, error);
    if (!(error instanceof Refusal)) throw error;
    if (await hasArrived(market, request, found)) return null;
    throw keepFromPaying(error, request, found);
  }
}

/**
 * A proof that shows no wallet, as it is out of time or for other goods, leaves open what its wallet has under way: then no answer says
 * that paying is safe. What was found against the proof itself says so for itself, and a 402 asks for one that shows a wallet, with
 * which what is under way is found.
 */
function keepFromPaying(refusal: Refusal, { proof }: BuyRequest, { check, signedBy }: RequestFindings): Refusal {
  const { reason, row, options } = refusal;
  const isOfProof = check !== null && 'refusal' in check && check.refusal === refusal;
  if (proof === null || signedBy !== null || isOfProof || row.status === 402) return refusal;
  return new Refusal(reason, { ...options, doNotPayAgain: true });
}

async function hasArrived(market: Market, request: BuyRequest, { known, signedBy }: RequestFindings): Promise<boolean> {
  const inLedger = await findInLedger(market, request);
  if (inLedger !== null && inLedger.id !== known?.id) return true;
  return (await findPaymentsOf(market, request, { signedBy, lapsedPayer: null })).length > 0;
}

/** The proof, if everything that can be said before a row is opened speaks for it. */
async function checkPurchase(
  market: Market,
  payments: Payments,
  request: BuyRequest,
  listing: ListingTerms,
  { check, signedBy }: RequestFindings,
): Promise<{ proof: Proof; floor: bigint }> {
  if (request.proof !== null) mustBeOpening(request);
  if (request.collectOnly) throw refuseCollection(market, request, listing, check);
  await checkSale(market, request, listing, signedBy);
  const terms = purchaseTerms(market, listing);
  mustReachFloor(market, listing);
  // A payer whose payment is known is told so first, even while it is unknown whether the payee could receive another.
  if (check !== null && 'refusal' in check && check.refusal.options.doNotPayAgain) throw check.refusal;
  await payments.payees.mustReceive(terms.payee);
  await payments.x402Gate.beforeSigning(terms, check);
  if (request.proof === null || check === null) {
    const detail = `This listing costs ${usdcOfUnits(listing.priceUnits)} USDC.`;
    throw withTokenPrefix(market, request, paymentRequired(market.config, terms, 'payment_required', detail));
  }
  if ('refusal' in check) throw check.refusal;
  mustMoveOn(market.clock, check.latest);
  const { payee, valueUnits } = terms;
  await mustNotBePaid(market, payments.readHead, { payer: check.payer, payee, valueUnits, payAnew: request.payAnew });
  mustHold(market.config, terms, check.balanceUnits);
  await payments.x402Gate.mustBeOffered(terms, check.payer);
  return { proof: request.proof, floor: check.floor };
}

/** Who has no key is told how a token of its own begins, to make and keep one before anything is sent. */
function withTokenPrefix({ config }: Market, { merchant }: BuyRequest, asked: Refusal): Refusal {
  if (merchant !== null) return asked;
  const fields = { ...asked.options.fields, delivery_token_prefix: `${config.keyPrefix}_dt_` };
  return new Refusal(asked.reason, { ...asked.options, fields });
}

function mustReachFloor({ config }: Market, { priceUnits }: ListingTerms): void {
  const floor = BigInt(config.limits.x402_floor_units);
  if (priceUnits < floor) throw belowLeastPrice(floor, 'This market takes no smaller sums by x402.');
}

/** Without a proof the request is asked for one, in every state of the listing: it will not be settled. */
function refuseCollection(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  check: ProofCheck | null,
): Refusal {
  if (check === null) return askToCollect(market.config, request, listing);
  return 'refusal' in check ? check.refusal : new Refusal('nothing_to_collect');
}

/** For sale, not to its own merchant, not above what the buyer agreed to. */
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

/** What is answered over a row that was opened and is not verified. */
const UNVERIFIED: ReadonlySet<Reason> = new Set([
  ...(['verification_pending', 'payment_rejected', 'facilitator_refused'] as const),
  ...(['listing_changed', 'listing_removed'] as const),
]);

/**
 * Anybody can sign for an empty wallet, and each such row is looked at by every pass until it runs out. So callers leave only so many
 * behind; one that is verified, or was never opened, is given back.
 */
async function limitAttempts<T>({ proof, takeAttempt }: BuyRequest, open: () => Promise<T>): Promise<T> {
  if (proof === null) return await open();
  const taken = takeAttempt();
  let isLeft = false;
  try {
    return await open();
  } catch (error) {
    isLeft = !(error instanceof Refusal) || UNVERIFIED.has(error.reason);
    throw error;
  } finally {
    taken.adjustTo(isLeft ? 1 : 0);
  }
}

interface PurchaseToOpen {
  request: Pick<BuyRequest, 'merchant'>;
  listing: ListingTerms;
  proof: Proof;
  /** The finalized block of the moment when the nonce was read as unused. */
  floor: bigint;
  /** The hash of the token that collects; null for a caller with a key. */
  token: Buffer | null;
}

/**
 * Commits the attempt before the facilitator hears of it, with terms and state read under a share lock of the listing. Null when a
 * unique rule gives the authorization, the payer or the merchant to another attempt: then that one is the answer. Null also when an
 * older version has become this buyer's meanwhile, so that nothing is to be paid.
 */
export async function openPurchase(market: Market, given: PurchaseToOpen): Promise<Payment | null> {
  const { request } = given;
  const { authorization } = given.proof;
  return await market.database.transaction(async (tx) => {
    const { id } = given.listing;
    const buyer = { merchantId: request.merchant?.id ?? null, payer: authorization.from };
    const [shared, entitled] = await Promise.all([shareListing(tx, id), isEarlierBuyer(tx, id, buyer)]);
    if (shared === null) throw new Refusal('listing_unavailable');
    mustStep(shared, 'buy');
    if (entitled) return null;
    return await PAYMENT_PATHS.x402.open(market, tx, {
      ...{ purpose: 'purchase', listingId: shared.id, merchantId: buyer.merchantId, bodyHash: null },
      ...{ payee: shared.sellerWallet, valueUnits: shared.priceUnits },
      ...{ proof: given.proof, openedBlock: given.floor, deliveryTokenHash: given.token },
    });
  });
}
