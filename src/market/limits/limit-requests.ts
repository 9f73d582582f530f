import { type EndpointName, type Endpoints, endpoints } from '../../contract/index.ts';
import type { Budget, Reservation } from '../../platform/budget.ts';
import type { AnyPageRoute, ExtraRoute, Operations, PageCall } from '../../platform/http/server-options.ts';
import { type RequestCost, runCounted } from '../../platform/request-cost.ts';
import type { Market, MarketCall, Merchant } from '../context.ts';
import { type Budgets, clientOf } from './budgets.ts';

type MarketOperations = Operations<Endpoints, Market, Merchant>;

type AnyOperation = (market: Market, call: MarketCall<Endpoints['getPayment']>) => Promise<unknown>;

/** Endpoints that may query the chain for the caller. */
const CHAIN_READING_ENDPOINTS: ReadonlySet<EndpointName> = new Set([
  ...(['buyListing', 'claimPurchase', 'openPurchaseIntent', 'openFeeIntent', 'createListing'] as const),
  ...(['reviewPayment', 'getPayment', 'getTreasury'] as const),
  ...(['listWorld', 'checkoutWorld', 'getWorldCheckout', 'syncWorld'] as const),
]);

/** Chain reads needed to check a fresh proof. Reserved at the start and corrected at the end. */
const READS_RESERVED = 6;

/** Milliseconds charged for reading rows and making JSON, if a read is not answered from memory. */
const READ_MS = 2;

/** Charges the budget before an operation starts. Never interrupts an operation, because no payment may stop half-way. */
export function limitOperations(budgets: Budgets, operations: MarketOperations): MarketOperations {
  const limited = Object.entries(operations).map(([name, operation]) => {
    // Each operation has its own type, so a loop over all of them needs a cast.
    const act = operation as unknown as AnyOperation;
    if (CHAIN_READING_ENDPOINTS.has(name as EndpointName)) return [name, limitChainReads(budgets, act)];
    if (endpoints[name as EndpointName].method === 'GET') return [name, limitRead(budgets, act)];
    return [name, operation];
  });
  return Object.fromEntries(limited);
}

function limitChainReads({ chainReads, walletReads }: Budgets, act: AnyOperation): AnyOperation {
  return async (market, call) => {
    const reservation = chainReads.take(clientOf(call), READS_RESERVED);
    let walletReservation: Reservation | null = null;
    const admit = (wallet: string): void => {
      walletReservation ??= walletReads.takeOwn({ account: wallet }, READS_RESERVED);
    };
    const cost: RequestCost = { units: 0, admit };
    try {
      return await runCounted(cost, () => act(market, call));
    } finally {
      for (const one of [reservation, walletReservation as Reservation | null]) one?.adjustTo(cost.units);
    }
  };
}

function limitRead({ readMs }: Budgets, act: AnyOperation): AnyOperation {
  return async (market, call) => {
    readMs.take(clientOf(call), READ_MS);
    return await act(market, call);
  };
}

/** Processor milliseconds charged for mounts, in addition to the operations they call. */
export const MOUNT_MS = {
  /** Reading rows and making a page. */
  page: 3,
  /** Drawing and compressing an image. */
  picture: 40,
  /** Checking and wrapping a message. */
  message: 3,
};

/** Charges the client network's budget before the mount answers. */
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
/** Chain reads of a probe, which reads the heads of the chain. */
const PROBE_READS = 3;

/** Charges probes that read the chain to their own network only, so that strangers cannot block the probes of others. */
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
