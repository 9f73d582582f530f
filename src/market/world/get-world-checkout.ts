import type { Endpoints } from '../../contract/index.ts';
import type { CheckoutOut } from '../../contract/world-records.ts';
import { isoTime } from '../../platform/clock.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { MarketOperation } from '../context.ts';
import { cityOrigin } from './city.ts';
import { type Checkout, findCheckout, mustNotBeLost } from './store.ts';

/** GET /api/world/checkout/:id. Public: the city reads it before it lets anybody reserve. */
export const getWorldCheckout: MarketOperation<Endpoints['getWorldCheckout']> = async (market, call) => {
  cityOrigin(market);
  const checkout = await findCheckout(market.database, call.params.id);
  if (checkout === null) await mustNotBeLost(market.database, 'world_checkouts', call.params.id);
  if (checkout === null) throw new Refusal('not_found', { detail: 'There is no checkout with that id.' });
  return { status: 200, body: { checkout: presentCheckout(checkout, market.clock.now()) } };
};

/** A checkout whose time is over is shown as expired, whether or not its row says so already. */
export function presentCheckout(checkout: Checkout, nowMs: number): CheckoutOut {
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
