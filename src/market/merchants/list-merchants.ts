import type { Endpoints } from '../../contract/index.ts';
import type { MarketOperation } from '../context.ts';
import { readMerchantPage } from './read-merchant-page.ts';

export const listMerchants: MarketOperation<Endpoints['listMerchants']> = async (market, call) => {
  const { limit, after_id } = call.query;
  return { status: 200, body: await readMerchantPage(market.database, { limit, afterId: after_id ?? null }) };
};
