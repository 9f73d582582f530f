import type { Endpoints } from '../../contract/index.ts';
import { listMerchants } from '../../contract/merchants.ts';
import { type MemoryRead, readQueryAs } from '../catalog/answers.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import { merchantParts } from './merchant-page.ts';

export function merchantsFromMemory({ answers }: MarketCatalog): MemoryRead {
  return ({ query, asked }) => {
    const given = readQueryAs(listMerchants.query, query);
    if (given === null) return null;
    const page = { limit: given.limit, afterId: Number(given.after_id ?? 0n) };
    return answers.fromMemory(asked, (model) => merchantParts(model, page));
  };
}

export function makeListMerchants({ answers }: MarketCatalog): MarketRead<Endpoints['listMerchants']> {
  return async (_market, call) => {
    const { limit, after_id } = call.query;
    const page = { limit, afterId: Number(after_id ?? 0n) };
    const asked = { target: call.path, acceptsGzip: call.acceptsGzip };
    return { status: 200, prepared: await answers.full(asked, (model) => merchantParts(model, page)) };
  };
}
