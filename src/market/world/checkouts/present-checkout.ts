import type { CheckoutOut } from '../../../contract/world-records.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Checkout } from './store.ts';

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
