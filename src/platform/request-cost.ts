import { AsyncLocalStorage } from 'node:async_hooks';

/** Units spent by one request so far. */
export interface RequestCost {
  units: number;
  /** Called before units are spent for that name; throws if its limit is exceeded. */
  admit(name: string): void;
}

const costs = new AsyncLocalStorage<RequestCost>();

/** Runs `act` and counts all that it spends while it is awaited. */
export function runCounted<T>(cost: RequestCost, act: () => Promise<T>): Promise<T> {
  return costs.run(cost, act);
}

/** Adds units to the request this code runs for. Background work has none. */
export function addRequestCost(units: number): void {
  const cost = costs.getStore();
  if (cost !== undefined) cost.units += units;
}

/** Reports a wallet that the request has proved to own, beside its key. */
export function admitSpender(name: string): void {
  costs.getStore()?.admit(name);
}
