import { type Endpoints, endpoints } from '../contract/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { NotedDatabase } from '../platform/database/note-writes.ts';
import type { MemoryRequest } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { Log } from '../platform/log.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Market, Merchant } from './context.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;
type Act = (...args: unknown[]) => Promise<unknown>;

/** Guarantees that a client sees its own changes in every later answer of this process. */
export interface ReadYourWrites {
  /** Makes writing operations answer only after the catalog has read their commits. */
  wrap(operations: MarketOperations): MarketOperations;
  /** Returns the lowest catalog version of a cached page that this client may see. */
  leastVersion(request: Pick<MemoryRequest, 'hasKey' | 'network'>): number;
}

/** How long a write is remembered, which is longer than any outdated page is served. */
const REMEMBERED_MS = 1_000;

interface Dependencies {
  catalog: Pick<Catalog, 'fresh' | 'model'>;
  /** Changes with each write through this process's database. Null during a write. */
  mark: NotedDatabase['mark'];
  clock: Clock;
  log: Log;
}

export function createReadYourWrites(dependencies: Dependencies): ReadYourWrites {
  const { catalog, clock } = dependencies;
  const refresh = createRefreshAfterWrite(dependencies);
  /** Last write of each network, oldest first. */
  const lastWrites = new Map<string, { version: number; at: number }>();
  const recordWrite = (network: string): void => {
    const at = clock.now();
    lastWrites.delete(network);
    lastWrites.set(network, { version: catalog.model().version, at });
    for (const [oldest, write] of lastWrites) {
      if (at - write.at < REMEMBERED_MS) return;
      lastWrites.delete(oldest);
    }
  };
  const wrapOne = (operation: Act) => {
    return async (market: unknown, call: { clientNetwork: string }) => {
      try {
        const answer = await operation(market, call);
        // Refresh even if nothing changed here, because the answer may report another process's change.
        await refresh.all();
        return answer;
      } catch (error) {
        await refresh.ownOnly();
        throw error;
      } finally {
        recordWrite(call.clientNetwork);
      }
    };
  };
  return {
    wrap: (operations) => {
      const wrapped = Object.entries(operations).map(([name, operation]) => {
        const endpoint = Object.entries(endpoints).find(([operationName]) => operationName === name)?.[1];
        if (endpoint === undefined || endpoint.method === 'GET') return [name, operation];
        // Operations have different types, so a loop over all of them needs a cast.
        return [name, wrapOne(operation as Act)];
      });
      return Object.fromEntries(wrapped);
    },
    leastVersion: (request) => {
      // A merchant may have written from another network.
      if (request.hasKey) return Number.POSITIVE_INFINITY;
      if (lastWrites.size === 0) return 0;
      const write = lastWrites.get(request.network());
      return write !== undefined && clock.now() - write.at < REMEMBERED_MS ? write.version : 0;
    },
  };
}

interface RefreshAfterWrite {
  all(): Promise<void>;
  ownOnly(): Promise<void>;
}

/**
 * Refreshes the catalog after writes. A refused write may have committed something or report another request's change, so it refreshes too,
 * unless this process has written nothing since the last refresh.
 */
function createRefreshAfterWrite({ catalog, mark, log }: Dependencies): RefreshAfterWrite {
  let refreshed: number | null = null;
  const all = async (): Promise<void> => {
    const before = mark();
    try {
      await catalog.fresh();
      // Keep the highest mark, because concurrent refreshes may not end in the order in which they began.
      if (before !== null && (refreshed === null || refreshed < before)) refreshed = before;
    } catch (error) {
      // The write is committed anyway, and the catalog catches up later.
      log.warn('catalog_behind', { error });
    }
  };
  return {
    all,
    ownOnly: async () => {
      const now = mark();
      if (now === null || now !== refreshed) await all();
    },
  };
}
