import { AsyncLocalStorage } from 'node:async_hooks';

/** What a request has spent so far, counted where it is spent. */
export interface RequestCost {
  units: number;
  /** Asked before anything is spent on what is of that name; throws beyond its limit. */
  admit(name: string): void;
}

const costs = new AsyncLocalStorage<RequestCost>();

/** Whatever `act` causes is counted there, as far as it waits for it. */
export function runCounted<T>(cost: RequestCost, act: () => Promise<T>): Promise<T> {
  return costs.run(cost, act);
}

/** Counts for the request that this code runs for. Background work counts for no request. */
export function addRequestCost(units: number): void {
  const cost = costs.getStore();
  if (cost !== undefined) cost.units += units;
}

/** Who a request has shown to be, beyond its key: a wallet. */
export function admitSpender(name: string): void {
  costs.getStore()?.admit(name);
}
