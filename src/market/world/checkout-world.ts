import type { Endpoints } from '../../contract/index.ts';
import { CHECKOUT_MINUTES } from '../../contract/vocabulary.ts';
import type { CheckoutOut, OfferPhase } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation, Merchant } from '../context.ts';
import { mustExist } from '../listings/check-goods.ts';
import { mustStep } from '../listings/listing-steps.ts';
import { lockListingShared } from '../listings/store.ts';
import { CityUnavailable, cityOrigin } from './city.ts';
import { mustBeLinked } from './link-city.ts';
import { type Checkout, findCheckout, findOpenCheckout, hasCheckout, insertCheckout, mustNotBeLost } from './store.ts';
import { findThingListing, readListedOffer } from './sync/listed-offer.ts';
import { findWorldListing, type WorldListing } from './sync/store.ts';

type CheckoutCall = MarketCall<Endpoints['checkoutWorld']>;

const CHECKOUTS_LOCK = 'world_checkouts';
const OPEN_MS = CHECKOUT_MINUTES * 60_000;

/** Phases in which a buyer may open a checkout. A reserved offer may become free again before the checkout expires. */
const OPEN_PHASES: readonly OfferPhase[] = ['listed', 'reserved'];

/** POST /api/world/checkout/:listing_id. Reserves nothing. A checkout shows the city for which merchant a resident buys. */
export const checkoutWorld: MarketOperation<Endpoints['checkoutWorld']> = async (market, call) => {
  cityOrigin(market);
  const listing = await findThingListing(market, call.params.listing_id);
  mustStep(listing, 'buy');
  mustNotBeOwn(listing, call);
  const open = await findOpenCheckout(market.database, checkoutKeyOf(call), new Date(market.clock.now()));
  if (open !== null) return answerCheckout(market, open, 200);
  await warnIfMaybePaid(market, call, () => mustBeBuyable(market, listing, call));
  const { checkout, isNew } = await market.database.transaction((tx) => openCheckout(tx, market, call));
  return answerCheckout(market, checkout, isNew ? 201 : 200);
};

function answerCheckout(market: Market, checkout: Checkout, status: 200 | 201) {
  return { status, body: { checkout: presentCheckout(checkout, market.clock.now()) } };
}

function checkoutKeyOf({ params, body, caller }: CheckoutCall) {
  return { listingId: params.listing_id, merchantId: caller.id, cityHandle: body.city_handle };
}

function mustNotBeOwn(listing: WorldListing, { body, caller }: CheckoutCall): void {
  if (listing.merchantId === caller.id || listing.sellerHandle === body.city_handle) throw new Refusal('own_goods');
}

/** Checks buyer and offer in the city now. The city checks them again when the buyer reserves. */
async function mustBeBuyable(market: Market, listing: WorldListing, { body, caller }: CheckoutCall): Promise<void> {
  await mustBeLinkedAs(market, caller, body.city_handle);
  const shown = await readListedOffer(market, listing);
  if ('differences' in shown) throw new Refusal('offer_mismatch', { errors: shown.differences });
  const { phase } = shown.offer;
  if (listing.reviewReason !== null || !OPEN_PHASES.includes(phase)) {
    throw new Refusal('offer_not_open', { detail: `The offer is ${phase}.` });
  }
}

async function mustBeLinkedAs(market: Market, caller: Merchant, cityHandle: string): Promise<void> {
  const linked = await mustBeLinked(market, caller);
  if (linked === cityHandle) return;
  throw new Refusal('link_missing', { detail: `${caller.handle} is linked with ${linked}, not with ${cityHandle}.` });
}

/** Runs `ask`. If the city is unavailable, tells a buyer with an earlier checkout not to pay again, because that buyer may have paid. */
async function warnIfMaybePaid(market: Market, call: CheckoutCall, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (!(error instanceof CityUnavailable)) throw error;
    const { listingId, merchantId } = checkoutKeyOf(call);
    throw (await hasCheckout(market.database, listingId, merchantId)) ? error.afterPayment() : error;
  }
}

/** Checks again under the listing's lock, which waits for a withdrawal or removal in progress and makes later ones wait. */
async function openCheckout(
  tx: Tx,
  market: Market,
  call: CheckoutCall,
): Promise<{ checkout: Checkout; isNew: boolean }> {
  const key = checkoutKeyOf(call);
  mustStep(mustExist(await lockListingShared(tx, key.listingId)), 'buy');
  await tx.lock(CHECKOUTS_LOCK);
  const listing = mustExist(await findWorldListing(tx, key.listingId));
  const now = market.clock.now();
  // The second of two concurrent requests finds the checkout of the first.
  const open = await findOpenCheckout(tx, key, new Date(now));
  if (open !== null) return { checkout: open, isNew: false };
  const time = { now: new Date(now), expiresAt: new Date(now + OPEN_MS) };
  const id = await insertCheckout(tx, { ...key, offerId: listing.offerId }, time);
  return { checkout: mustExist(await findCheckout(tx, id)), isNew: true };
}

/** GET /api/world/checkout/:id. Public, because the city reads it before it accepts a reservation. */
export const getWorldCheckout: MarketOperation<Endpoints['getWorldCheckout']> = async (market, call) => {
  cityOrigin(market);
  const checkout = await findCheckout(market.database, call.params.id);
  if (checkout === null) await mustNotBeLost(market.database, 'world_checkouts', call.params.id);
  if (checkout === null) throw new Refusal('not_found', { detail: 'There is no checkout with that id.' });
  return { status: 200, body: { checkout: presentCheckout(checkout, market.clock.now()) } };
};

/** Presents an expired checkout as expired, even if its row is still open. */
function presentCheckout(checkout: Checkout, nowMs: number): CheckoutOut {
  const isOver = checkout.state === 'open' && checkout.expiresAt.getTime() <= nowMs;
  return {
    id: Number(checkout.id),
    listing_id: Number(checkout.listingId),
    market_buyer: checkout.marketBuyer,
    city_handle: checkout.cityHandle,
    city_offer_id: Number(checkout.offerId),
    state: isOver ? 'expired' : checkout.state,
    created_at: isoTime(checkout.createdAt),
    expires_at: isoTime(checkout.expiresAt),
  };
}
