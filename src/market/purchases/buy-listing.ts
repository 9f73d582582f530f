import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation } from '../context.ts';
import { isRefused, judgeStep } from '../listings/listing-steps.ts';
import { findListingTerms, type ListingTerms } from '../listings/store.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { askAnew } from '../payments/x402/ask-anew.ts';
import { answerPayment } from './answer-payment.ts';
import { type BuyRequest, purchaseTerms, readBuyRequest } from './buy-request.ts';
import { checkFresh } from './check-fresh.ts';
import { collectorOf } from './collector.ts';
import { type BuyAnswer, deliver } from './deliver.ts';
import { findHeld, findInLedger } from './find-payment-of-request.ts';
import { mustBeGoods } from './must-be-goods.ts';
import { startPurchase } from './start-purchase.ts';
import { findPurchase } from './store.ts';
import { takeFreeGoods } from './take-free-goods.ts';
import { isEntitled } from './versions/is-entitled.ts';

/** Each round ends in an answer or in somebody else's row, which the next round finds. */
const MAX_ROUNDS = 4;

/**
 * POST /api/buy/:id, in the order of W7: ledger, completed purchase, open attempt, what earlier buyers get free of charge, state of the
 * listing, 402. The order is what keeps a listing's end from hiding a purchase, and a client that signs anew at each call from paying
 * twice.
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
  mustBeGoods(listing);
  if (known !== null) {
    const answer = await answerPayment(market, payments, known, request, listing, collectorOf(request, null));
    if (answer !== null) return answer;
  }
  // What is left of a known proof is one that ended unpaid: it proves nothing, but it still says whose payments to look for.
  const lapsed = known?.path === 'x402' && known.nonce === request.proof?.authorization.nonce ? known : null;
  const check = lapsed === null ? await checkFresh(market, payments, request, listing) : null;
  const signedBy = check && 'payer' in check ? check.payer : null;
  for (const payment of await findHeld(market, request, { signedBy, lapsedPayer: lapsed?.payer ?? null })) {
    const answer = await answerPayment(market, payments, payment, request, listing, collectorOf(request, signedBy));
    if (answer !== null) return answer;
  }
  if (listing.priceUnits === 0n) return await answerFree(market, request, listing);
  // Whoever shows that it bought an older version is never asked for money here, and a proof that came along is left alone.
  const buyer = { merchantId: request.merchant?.id ?? null, payer: signedBy };
  if (await isEntitled(market.database, listing, buyer)) return await deliver(market, listing.id, null);
  if (lapsed !== null) throw refuseLapsed(market, listing, lapsed);
  return await startPurchase(market, payments, request, listing, { known, check, signedBy });
}

/** The old proof of a payment that has ended: the buyer may sign anew, while the listing is for sale. */
function refuseLapsed(market: Market, listing: ListingTerms, ended: Payment): Refusal {
  if (isRefused(judgeStep(listing, 'buy'))) return new Refusal('authorization_lapsed');
  return askAnew(market.config, purchaseTerms(market, listing), ended);
}

/** A free good that a merchant took stays its own, whatever becomes of the listing. */
async function answerFree(market: Market, request: BuyRequest, listing: ListingTerms): Promise<BuyAnswer> {
  const { merchant } = request;
  const had = merchant && (await findPurchase(market.database, listing.id, { merchantId: merchant.id }));
  if (had) return await deliver(market, listing.id, had);
  if (isRefused(judgeStep(listing, 'buy'))) {
    // While it is live even an earlier buyer takes it like everybody else, so that it is a purchase (W7).
    const entitled = await isEntitled(market.database, listing, { merchantId: merchant?.id ?? null, payer: null });
    if (entitled) return await deliver(market, listing.id, null);
    throw new Refusal('listing_unavailable');
  }
  if (merchant?.id === listing.merchantId) throw new Refusal('own_goods');
  return await takeFreeGoods(market, listing, merchant);
}
