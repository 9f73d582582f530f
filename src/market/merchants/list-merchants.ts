import type { Endpoints } from '../../contract/index.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import { merchantParts } from './merchant-page.ts';

export function makeListMerchants({ answers }: MarketCatalog): MarketRead<Endpoints['listMerchants']> {
  return async (_market, call) => {
    const { limit, after_id } = call.query;
    const page = { limit, afterId: Number(after_id ?? 0n) };
    return { status: 200, prepared: await answers.full((model) => merchantParts(model, page)) };
  };
}
