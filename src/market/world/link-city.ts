import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { presentMerchant } from '../merchants/present-merchant.ts';
import { readMerchant } from '../merchants/store.ts';
import { cityOrigin, readResident } from './city.ts';
import { findCityHandle, setCityHandle } from './store.ts';

/** POST /api/city-link. Stores a public claim, which is checked whenever it matters. It is not a trade, so the log has no event for it. */
export const linkCity: MarketOperation<Endpoints['linkCity']> = async (market, call) => {
  cityOrigin(market);
  const { id } = call.caller;
  await setCityHandle(market.database, id, call.body.city_handle);
  const merchant = await readMerchant(market.database, id);
  if (merchant === null) throw new TypeError(`merchant ${id} has a key and no row`);
  return { status: 200, body: { merchant: presentMerchant(merchant) } };
};

/** Returns the resident linked to this merchant; each must name the other. Reads both sites every time, so either can end the link. */
export async function mustBeLinked(market: Market, merchant: Merchant): Promise<string> {
  const cityHandle = await findCityHandle(market.database, merchant.id);
  if (cityHandle === null) {
    throw new Refusal('link_missing', { detail: `${merchant.handle} names no resident of the city.` });
  }
  const resident = await readResident(market, cityHandle);
  if (resident?.market_handle === merchant.handle) return cityHandle;
  const named = resident?.market_handle ?? 'no merchant';
  const detail =
    resident === null
      ? `There is no resident ${cityHandle}.`
      : `The resident ${cityHandle} names ${named}, not ${merchant.handle}.`;
  throw new Refusal('link_missing', { detail });
}
