import type { Endpoints } from '../../contract/index.ts';
import { getStore } from '../../contract/listings.ts';
import { type MemoryRead, readQueryAs } from '../catalog/answers.ts';
import type { MarketCatalog } from '../catalog/market-catalog.ts';
import type { MarketRead } from '../context.ts';
import { checkBefore, merchantNamed, storeParts } from './store-parts.ts';
import { streamStore } from './stream-store.ts';

const HANDLE = /^[a-z0-9-]{1,64}$/;
/** Up to here a whole store is one page like any other, with an ETag. */
const AT_ONCE = 500;

/** A page of a store; whole stores are counted, and are the operation's. */
export function storeFromMemory({ answers }: MarketCatalog): MemoryRead {
  return ({ name: handle, query, asked }) => {
    if (query === '' || !HANDLE.test(handle)) return null;
    const { limit, before_id: beforeId = 0n } = readQueryAs(getStore.query, query) ?? {};
    if (limit === undefined) return null;
    return answers.fromMemory(asked, (model) => storeParts(model, { handle, limit, beforeId: Number(beforeId) }));
  };
}

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
      prepared: await catalog.answers.full({ target: call.path, acceptsGzip: call.acceptsGzip }, (model) =>
        storeParts(model, { handle, limit, beforeId }),
      ),
    };
  };
}
