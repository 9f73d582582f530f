import type { Endpoints } from '../../../contract/index.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketOperation } from '../../context.ts';
import { cityOrigin } from '../city/fetch-city.ts';
import { mustNotBeLost } from '../lost/must-not-be-lost.ts';
import { presentCheckout } from './present-checkout.ts';
import { findCheckout } from './store.ts';

/** GET /api/world/checkout/:id. Public: the city reads it before it lets anybody reserve. */
export const getWorldCheckout: MarketOperation<Endpoints['getWorldCheckout']> = async (market, call) => {
  cityOrigin(market);
  const checkout = await findCheckout(market.database, call.params.id);
  if (checkout === null) await mustNotBeLost(market.database, 'world_checkouts', call.params.id);
  if (checkout === null) throw new Refusal('not_found', { detail: 'There is no checkout with that id.' });
  return { status: 200, body: { checkout: presentCheckout(checkout, market.clock.now()) } };
};
