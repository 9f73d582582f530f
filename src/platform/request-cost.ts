import { AsyncLocalStorage } from 'node:async_hooks';

/** Cost of one request so far. */
export interface RequestCost {
  units: number;
  /**
   * Called with a wallet whose key signed for the request, before the request causes more cost. Throws if the limit of that wallet is
   * exceeded.
   */
  admit(name: string): void;
}

const costs = new AsyncLocalStorage<RequestCost>();

/** Runs `act` and counts the units that it spends until it resolves. */
export function runCounted<T>(cost: RequestCost, act: () => Promise<T>): Promise<T> {
  return costs.run(cost, act);
}

/** Adds units to the current request. Does nothing in background work, which has no request. */
export function addRequestCost(units: number): void {
  const cost = costs.getStore();
  if (cost !== undefined) cost.units += units;
}

/** Reports a wallet whose key signed for the current request. The limit of that wallet then applies too, besides that of the caller. */
export function admitSpender(name: string): void {
  costs.getStore()?.admit(name);
}
