import { AsyncLocalStorage } from 'node:async_hooks';

/** What a request has spent so far, counted where it is spent. */
export interface Tally {
  units: number;
  /** Asked before anything is spent on what is of that name; throws beyond its limit. */
  admit(name: string): void;
}

const tallies = new AsyncLocalStorage<Tally>();

/** Whatever `act` causes is counted there, as far as it waits for it. */
export function tallied<T>(tally: Tally, act: () => Promise<T>): Promise<T> {
  return tallies.run(tally, act);
}

/** Counts for the request that this code runs for. Background work counts for no request. */
export function noteSpent(units: number): void {
  const tally = tallies.getStore();
  if (tally !== undefined) tally.units += units;
}

/** Who a request has shown to be, beyond its key: a wallet. */
export function admitSpender(name: string): void {
  tallies.getStore()?.admit(name);
}
