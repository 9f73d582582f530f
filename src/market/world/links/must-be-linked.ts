import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import { readResident } from '../city/fetch-city.ts';
import { findCityHandle } from './store.ts';

/**
 * The resident that this merchant is: each names the other on its own site. Both are read now, every time: a link that one side has
 * ended is over at once.
 */
export async function mustBeLinked(market: Market, merchant: Merchant): Promise<string> {
  const cityHandle = await findCityHandle(market.database, merchant.id);
  if (cityHandle === null) {
    throw new Refusal('link_missing', { detail: `${merchant.handle} names no resident of the city.` });
  }
  const resident = await readResident(market, cityHandle);
  if (resident?.market_handle === merchant.handle) return cityHandle;
  const named = resident?.market_handle ?? 'nobody';
  const detail =
    resident === null
      ? `There is no resident ${cityHandle}.`
      : `The resident ${cityHandle} names ${named}, not ${merchant.handle}.`;
  throw new Refusal('link_missing', { detail });
}
