import { type Endpoints, endpoints } from '../contract/index.ts';
import type { NotedDatabase } from '../platform/database/note-writes.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { Log } from '../platform/log.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Market, Merchant } from './context.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;

export interface OwnWrites {
  catalog: Pick<Catalog, 'fresh'>;
  /** Of the database through which everything in this process goes. */
  mark: NotedDatabase['mark'];
  log: Log;
}

/**
 * Whoever has changed something sees it in whatever this process answers afterwards: no write is answered before the catalog has
 * taken in what was committed. A refused one may have committed something on its way, or tell of what another request did; only where
 * nothing in this process was changed since the catalog last looked is there nothing to take in, and a refusal does not wait.
 */
export function seeOwnWrites(needs: OwnWrites, operations: MarketOperations): MarketOperations {
  const takeIn = createTakeIn(needs);
  const wrapped = Object.entries(operations).map(([name, operation]) => {
    const endpoint = Object.entries(endpoints).find(([known]) => known === name)?.[1];
    if (endpoint === undefined || endpoint.method === 'GET') return [name, operation];
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as (...given: unknown[]) => Promise<unknown>;
    return [
      name,
      async (...given: unknown[]) => {
        try {
          const answer = await act(...given);
          // Also where it changed nothing itself: another process may have done what it tells of.
          await takeIn.all();
          return answer;
        } catch (error) {
          await takeIn.ownOnly();
          throw error;
        }
      },
    ];
  });
  return Object.fromEntries(wrapped);
}

/** The act is done, whatever becomes of the copy: a failure here is nobody's, the copy follows by itself as soon as it can. */
function createTakeIn({ catalog, mark, log }: OwnWrites): { all(): Promise<void>; ownOnly(): Promise<void> } {
  let taken: number | null = null;
  const all = async (): Promise<void> => {
    const before = mark();
    try {
      await catalog.fresh();
      // Looks may end in another order than they began.
      if (before !== null && (taken === null || taken < before)) taken = before;
    } catch (error) {
      log.warn('catalog_behind', { error });
    }
  };
  return {
    all,
    ownOnly: async () => {
      const now = mark();
      if (now === null || now !== taken) await all();
    },
  };
}
