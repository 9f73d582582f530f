import type { Endpoints } from '../../contract/index.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import { checkBefore, merchantNamed, storeParts } from './store-parts.ts';
import { streamStore } from './stream-store.ts';

/** Up to here a whole store is one page like any other, with an ETag. */
const AT_ONCE = 500;

export function makeGetStore(catalog: MarketCatalog): MarketRead<Endpoints['getStore']> {
  return async ({ database }, call) => {
    const { handle } = call.params;
    const limit = call.query.limit ?? null;
    const beforeId = Number(call.query.before_id ?? 0n);
    const merchant = merchantNamed(catalog.model(), handle);
    checkBefore(catalog.model(), merchant, beforeId);
    if (limit === null && merchant.live.count > AT_ONCE) {
      return { status: 200, prepared: streamStore({ catalog, database }, { handle, beforeId }) };
    }
    return {
      status: 200,
      prepared: await catalog.answers.full((model) => storeParts(model, { handle, limit, beforeId })),
    };
  };
}
