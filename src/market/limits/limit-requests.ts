import { type EndpointName, type Endpoints, endpoints } from '../../contract/index.ts';
import type { Budget, Reservation } from '../../platform/budget.ts';
import type { AnyPageRoute, ExtraRoute, Operations, PageCall } from '../../platform/http/server-options.ts';
import { type RequestCost, runCounted } from '../../platform/request-cost.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import { type Budgets, clientOf } from './budgets.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;

type AnyOperation = (market: Market, call: MarketCall<Endpoints['getPayment']>) => Promise<unknown>;

/** What may ask the chain on behalf of who calls. */
const CHAIN_READING_ENDPOINTS: ReadonlySet<EndpointName> = new Set([
  ...(['buyListing', 'claimPurchase', 'openPurchaseIntent', 'openFeeIntent', 'createListing'] as const),
  ...(['reviewPayment', 'getPayment', 'getTreasury'] as const),
  ...(['listWorld', 'checkoutWorld', 'getWorldCheckout', 'syncWorld'] as const),
]);

/** What the check of a fresh proof asks for; taken before the first of it, settled after the last. */
const READS_RESERVED = 6;

/** Of a read that is not answered out of memory: reading rows, making JSON. */
const READ_MS = 2;

/**
 * Charges the caller's budget before the operation begins: a refused operation has asked neither the chain nor the database. An operation
 * that has begun is never cut short, so that no payment stops half-way.
 */
export function limitOperations(budgets: Budgets, operations: MarketOperations): MarketOperations {
  const limited = Object.entries(operations).map(([name, operation]) => {
    // Each operation has types of its own, which a table of them can only be walked without.
    const act = operation as unknown as AnyOperation;
    if (CHAIN_READING_ENDPOINTS.has(name as EndpointName)) return [name, limitChainReads(budgets, act)];
    if (endpoints[name as EndpointName].method === 'GET') return [name, limitRead(budgets, act)];
    return [name, operation];
  });
  return Object.fromEntries(limited);
}

function limitChainReads({ chainReads, walletReads }: Budgets, act: AnyOperation): AnyOperation {
  return async (market, call) => {
    const taken = chainReads.take(clientOf(call), READS_RESERVED);
    let ofWallet: Reservation | null = null;
    const admit = (wallet: string): void => {
      ofWallet ??= walletReads.takeOwn({ account: wallet }, READS_RESERVED);
    };
    const cost: RequestCost = { units: 0, admit };
    try {
      return await runCounted(cost, () => act(market, call));
    } finally {
      for (const one of [taken, ofWallet as Reservation | null]) one?.adjustTo(cost.units);
    }
  };
}

function limitRead({ readMs }: Budgets, act: AnyOperation): AnyOperation {
  return async (market, call) => {
    readMs.take(clientOf(call), READ_MS);
    return await act(market, call);
  };
}

/** What the answers of mounts cost beyond the operations that they ask, in milliseconds of the processor. */
export const MOUNT_MS = {
  /** Reading rows, making a page of them. */
  page: 3,
  /** Drawing and packing an image. */
  picture: 40,
  /** Checking and wrapping a message. */
  message: 3,
};

/** Takes that out of the budget of the network that asks, before anything is done. */
export function limitMounts(readMs: Budget, cost: number, mounts: readonly ExtraRoute[]): ExtraRoute[] {
  return mounts.map((mount) => ({
    ...mount,
    answer: async (incoming) => {
      readMs.take({ network: incoming.clientNetwork }, cost);
      return await mount.answer(incoming);
    },
  }));
}

const PROBE = '/readyz';
/** The heads of the chain, as a probe looks at them. */
const PROBE_READS = 3;

/** A probe reads the chain as well, unless it asks for reads alone. It is counted with its own network alone: what strangers use up must not stop the probes of others. */
export function limitProbes(chainReads: Budget, pages: readonly AnyPageRoute[]): AnyPageRoute[] {
  return pages.map((page) => {
    if (page.method !== 'GET' || page.path !== PROBE) return page;
    return {
      ...page,
      handler: (call: PageCall) => {
        if (call.query['reads'] === undefined) chainReads.takeOwn({ network: call.clientNetwork }, PROBE_READS);
        return page.handler(call);
      },
    };
  });
}
