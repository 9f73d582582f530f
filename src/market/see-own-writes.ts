import { type Endpoints, endpoints } from '../contract/index.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { Log } from '../platform/log.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Market, Merchant } from './context.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;

/**
 * Whoever has changed something sees it in whatever this process answers afterwards: no write is answered before the catalog has
 * taken in what was committed. A refused one neither, as it may have committed something on its way.
 */
export function seeOwnWrites(
  { catalog, log }: { catalog: Pick<Catalog, 'fresh'>; log: Log },
  operations: MarketOperations,
): MarketOperations {
  const wrapped = Object.entries(operations).map(([name, operation]) => {
    const endpoint = Object.entries(endpoints).find(([known]) => known === name)?.[1];
    if (endpoint === undefined || endpoint.method === 'GET') return [name, operation];
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as (...given: unknown[]) => Promise<unknown>;
    return [
      name,
      async (...given: unknown[]) => {
        try {
          return await act(...given);
        } finally {
          // The act is done, whatever becomes of the copy: it follows by itself as soon as it can.
          await catalog.fresh().catch((error: unknown) => log.warn('catalog_behind', { error }));
        }
      },
    ];
  });
  return Object.fromEntries(wrapped);
}
