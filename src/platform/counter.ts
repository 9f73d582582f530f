import type { Clock } from './clock.ts';

/** Counts by name. A name with a count of 0 takes no memory. */
export function createCounter() {
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

export interface RateOptions {
  clock: Clock;
  /** Total so far. */
  count(): number;
  /** Often means at least this many a second. */
  perSecond: number;
  /** Shortest measuring interval; must be longer than the gap between two bursts. */
  overMs: number;
}

/** Tells whether something happens often, by the last complete interval. */
export function createRate({ clock, count, perSecond, overMs }: RateOptions): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let before = 0;
  let isOften = false;
  return () => {
    const now = clock.now();
    const elapsedMs = now - since;
    // If the clock was put back, the elapsed time is unknown: measure anew.
    if (elapsedMs >= 0 && elapsedMs < overMs) return isOften;
    const counted = count();
    isOften = elapsedMs > 0 && (counted - before) * 1_000 >= perSecond * elapsedMs;
    since = now;
    before = counted;
    return isOften;
  };
}
