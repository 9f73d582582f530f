import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from './clock.ts';

/** How many of something there are under each name. Names with none take no memory. */
export function createTally() {
  const counts = new Map<string, number>();
  return {
    of: (name: string): number => counts.get(name) ?? 0,
    add: (name: string, by: 1 | -1): void => {
      const count = (counts.get(name) ?? 0) + by;
      if (count > 0) counts.set(name, count);
      else counts.delete(name);
    },
  };
}

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

export interface RateOptions {
  clock: Clock;
  /** How often it has happened so far. */
  count(): number;
  /** From how many a second on it is often. */
  perSecond: number;
  /** For so long it is counted, at least: longer than from one burst to the next. */
  overMs: number;
}

/** Tells whether something happens often, by the last stretch of time that was counted whole. */
export function createRate({ clock, count, perSecond, overMs }: RateOptions): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let before = 0;
  let isOften = false;
  return () => {
    const now = clock.now();
    const elapsedMs = now - since;
    // Put back, the clock says nothing of how long it was.
    if (elapsedMs >= 0 && elapsedMs < overMs) return isOften;
    const counted = count();
    isOften = elapsedMs > 0 && (counted - before) * 1_000 >= perSecond * elapsedMs;
    since = now;
    before = counted;
    return isOften;
  };
}
