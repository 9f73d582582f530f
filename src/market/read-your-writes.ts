import { type Endpoints, endpoints } from '../contract/index.ts';
import type { Clock } from '../platform/clock.ts';
import type { NotedDatabase } from '../platform/database/note-writes.ts';
import type { MemoryRequest } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/server-options.ts';
import type { Log } from '../platform/log.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Market, Merchant } from './context.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;

/** Read-your-writes: a client that has changed something sees it in everything that this process answers it afterwards. */
export interface ReadYourWrites {
  /** Operations that write answer only after the catalog has taken in what was committed. */
  wrap(operations: MarketOperations): MarketOperations;
  /** The version of the catalog that a cached page must have at least to be shown to that client. */
  leastVersion(request: Pick<MemoryRequest, 'hasKey' | 'network'>): number;
}

/** Longer than any page is shown after its version has passed. */
const REMEMBERED_MS = 1_000;

export function createReadYourWrites(dependencies: {
  catalog: Pick<Catalog, 'fresh' | 'model'>;
  /** Of the database through which everything in this process goes. */
  mark: NotedDatabase['mark'];
  clock: Clock;
  log: Log;
}): ReadYourWrites {
  const { catalog, clock } = dependencies;
  const refresh = createRefreshAfterWrite(dependencies);
  /** By network, the oldest write first. */
  const written = new Map<string, { version: number; at: number }>();
  const note = (network: string): void => {
    const at = clock.now();
    written.delete(network);
    written.set(network, { version: catalog.model().version, at });
    for (const [oldest, write] of written) {
      if (at - write.at < REMEMBERED_MS) return;
      written.delete(oldest);
    }
  };
  const wrapOne = (act: (...given: unknown[]) => Promise<unknown>) => {
    return async (market: unknown, call: { clientNetwork: string }) => {
      try {
        const answer = await act(market, call);
        // Also where it changed nothing itself: another process may have done what it tells of.
        await refresh.all();
        return answer;
      } catch (error) {
        await refresh.ownOnly();
        throw error;
      } finally {
        note(call.clientNetwork);
      }
    };
  };
  return {
    wrap: (operations) => {
      const wrapped = Object.entries(operations).map(([name, operation]) => {
        const endpoint = Object.entries(endpoints).find(([known]) => known === name)?.[1];
        if (endpoint === undefined || endpoint.method === 'GET') return [name, operation];
        // Each operation has types of its own, which a table of them can only be walked without.
        return [name, wrapOne(operation as (...given: unknown[]) => Promise<unknown>)];
      });
      return Object.fromEntries(wrapped);
    },
    leastVersion: (request) => {
      // A key may have written from another network.
      if (request.hasKey) return Number.POSITIVE_INFINITY;
      if (written.size === 0) return 0;
      const write = written.get(request.network());
      return write !== undefined && clock.now() - write.at < REMEMBERED_MS ? write.version : 0;
    },
  };
}

/**
 * A refused write may have committed something on its way, or tell of what another request did; only where nothing in this process was
 * changed since the catalog last looked is there nothing to take in, and a refusal does not wait.
 */
function createRefreshAfterWrite({
  catalog,
  mark,
  log,
}: {
  catalog: Pick<Catalog, 'fresh'>;
  mark: NotedDatabase['mark'];
  log: Log;
}): { all(): Promise<void>; ownOnly(): Promise<void> } {
  let taken: number | null = null;
  const all = async (): Promise<void> => {
    const before = mark();
    try {
      await catalog.fresh();
      // Looks may end in another order than they began.
      if (before !== null && (taken === null || taken < before)) taken = before;
    } catch (error) {
      // The write is committed whatever becomes of the copy, which follows by itself as soon as it can.
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
