import type { Endpoints } from '../../../contract/index.ts';
import type { MarketOperation } from '../../context.ts';
import { presentMerchant } from '../../merchants/present-merchant.ts';
import { readMerchant } from '../../merchants/store.ts';
import { cityOrigin } from '../city/fetch-city.ts';
import { setCityHandle } from './store.ts';

/**
 * POST /api/city-link. It is a claim, public as such: whether the resident says the same is asked whenever it matters. No act of trade,
 * so the log has no kind for it.
 */
export const linkCity: MarketOperation<Endpoints['linkCity']> = async (market, call) => {
  cityOrigin(market);
  const { id } = call.caller;
  await setCityHandle(market.database, id, call.body.city_handle);
  const merchant = await readMerchant(market.database, id);
  if (merchant === null) throw new TypeError(`merchant ${id} has a key and no row`);
  return { status: 200, body: { merchant: presentMerchant(merchant) } };
};
