import type { Endpoints } from '../../contract/index.ts';
import { usdcText } from '../../contract/money.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation } from '../context.ts';
import { findListingTerms, isSellerWallet, type ListingTerms } from '../listings/store.ts';
import type { Payments } from '../payments/payments.ts';
import type { Payment } from '../payments/store.ts';
import { askPayment } from '../payments/x402/ask-payment.ts';
import { checkBalance, checkProof, type ProofCheck } from '../payments/x402/check-proof.ts';
import { answerPayment } from './answer-payment.ts';
import { type BuyRequest, purchaseTerms, readBuyRequest } from './buy-request.ts';
import type { Collector } from './collector.ts';
import type { BuyAnswer } from './deliver.ts';
import { findHeld, findInLedger } from './find-payment-of-request.ts';
import { openPurchase } from './open-purchase.ts';
import { takeFreeGoods } from './take-free-goods.ts';

/** Each round ends in an answer or in somebody else's row, which the next round finds. */
const MAX_ROUNDS = 4;

/**
 * POST /api/buy/:id, in the order of W7: ledger, completed purchase, open attempt, state of the listing, 402. The order is what
 * keeps a listing's end from hiding a purchase, and a client that signs anew at each call from paying twice.
 */
export function makeBuyListing(payments: Payments): MarketOperation<Endpoints['buyListing']> {
  return async (market, call) => {
    const request = readBuyRequest(call);
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const answer = await answerRound(market, payments, request);
      if (answer !== null) return answer;
    }
    throw new Refusal('verification_pending', {
      detail: 'Another request for these goods is under way.',
      retryAfterSeconds: 1,
    });
  };
}

/** Null when a rival took the place between the look and the row. */
async function answerRound(market: Market, payments: Payments, request: BuyRequest): Promise<BuyAnswer | null> {
  const known = await findInLedger(market, request);
  const listing = await findListingTerms(market.database, request.listingId);
  if (listing === null) throw new Refusal('listing_unavailable');
  if (known !== null) {
    const answer = await answerPayment(market, payments, known, request, listing, collectorOf(request, null));
    if (answer !== null) return answer;
  }
  const check = await checkFresh(market, request, listing, known);
  const signedBy = check && 'payer' in check ? check.payer : null;
  for (const held of await findHeld(market, request, signedBy)) {
    const answer = await answerPayment(market, payments, held, request, listing, collectorOf(request, signedBy));
    if (answer !== null) return answer;
  }
  if (request.collectOnly && listing.priceUnits > 0n) throw refuseCollection(market, listing, check);
  return await buy(market, payments, request, listing, check);
}

function collectorOf(request: BuyRequest, signedBy: Collector['signedBy']): Collector {
  return { merchantId: request.merchant?.id ?? null, tokenHash: request.tokenHash, signedBy };
}

/** A proof that is not in the ledger may be fresh: then it shows who controls the wallet. */
async function checkFresh(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  known: Payment | null,
): Promise<ProofCheck | null> {
  const isKnown = known !== null && known.nonce === request.proof?.authorization.nonce;
  if (request.proof === null || isKnown || listing.priceUnits === 0n) return null;
  return await checkProof(market, request.proof, purchaseTerms(market, listing));
}

/** Without a proof the request is asked for one, in every state of the listing: it will not be settled. */
function refuseCollection(market: Market, listing: ListingTerms, check: ProofCheck | null): Refusal {
  if (check === null) {
    const detail = 'Sign to show that you control the paying wallet. This authorization will not be settled.';
    return askPayment(market.config, purchaseTerms(market, listing), 'payment_required', detail);
  }
  return 'refusal' in check ? check.refusal : new Refusal('nothing_to_collect');
}

async function buy(
  market: Market,
  payments: Payments,
  request: BuyRequest,
  listing: ListingTerms,
  check: ProofCheck | null,
): Promise<BuyAnswer | null> {
  await checkSale(market, request, listing, check);
  if (listing.priceUnits === 0n) return await takeFreeGoods(market, listing, request.merchant);
  const terms = purchaseTerms(market, listing);
  if (listing.priceUnits < BigInt(market.config.limits.x402_floor_units)) throw new Refusal('x402_not_offered');
  await payments.payees.mustReceive(terms.payee);
  if (request.proof === null || check === null) {
    throw askPayment(
      market.config,
      terms,
      'payment_required',
      `This listing costs ${usdcText(listing.priceUnits)} USDC.`,
    );
  }
  if ('refusal' in check) throw check.refusal;
  const poor = await checkBalance(market, request.proof, terms);
  if (poor !== null) throw poor;
  const opened = await openPurchase(market, request, listing, request.proof);
  if (opened === null) return null;
  const { payment, deliveryToken } = opened;
  const collector = { ...collectorOf(request, null), tokenHash: payment.deliveryTokenHash };
  return await withToken(deliveryToken, () => answerPayment(market, payments, payment, request, listing, collector));
}

/** State and terms (step four): for sale, not to its own merchant, not above what the buyer agreed to. */
async function checkSale(
  market: Market,
  request: BuyRequest,
  listing: ListingTerms,
  check: ProofCheck | null,
): Promise<void> {
  if (listing.state !== 'live') throw new Refusal('listing_unavailable');
  if (request.merchant?.id === listing.merchantId) throw new Refusal('own_goods');
  if (check && 'payer' in check && (await isSellerWallet(market.database, listing.merchantId, check.payer))) {
    throw new Refusal('own_goods', { detail: 'The payer is a wallet to which this merchant sells.' });
  }
  if (request.maxPriceUnits !== null && listing.priceUnits > request.maxPriceUnits) {
    throw new Refusal('price_above_limit', { detail: `The price is ${usdcText(listing.priceUnits)} USDC.` });
  }
}

/** The one request without a key that opened the payment gets the token in its answer, whatever that answer is. */
async function withToken(token: string | null, act: () => Promise<BuyAnswer | null>): Promise<BuyAnswer | null> {
  if (token === null) return await act();
  try {
    const answer = await act();
    if (answer?.status === 200) return { ...answer, body: { ...answer.body, delivery_token: token } };
    if (answer?.status === 202) return { ...answer, body: { ...answer.body, delivery_token: token } };
    return answer;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const fields = { ...error.options.fields, delivery_token: token };
    throw new Refusal(error.reason, { ...error.options, fields });
  }
}
