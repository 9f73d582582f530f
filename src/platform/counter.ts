import type { Clock } from './clock.ts';

/** Counts by name. Names with a count of 0 use no memory. */
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
  /** Returns the total so far. */
  count(): number;
  /** Rate per second from which events count as frequent. */
  perSecond: number;
  /** Minimum length of a measurement. Must be longer than the gap between two bursts. */
  overMs: number;
}

/** Creates a function that returns whether events are frequent, judged by the last complete measurement. */
export function createRate({ clock, count, perSecond, overMs }: RateOptions): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let before = 0;
  let isOften = false;
  return () => {
    const now = clock.now();
    const elapsedMs = now - since;
    // If the clock was set back, the elapsed time is unknown, so measure again.
    if (elapsedMs >= 0 && elapsedMs < overMs) return isOften;
    const counted = count();
    isOften = elapsedMs > 0 && (counted - before) * 1_000 >= perSecond * elapsedMs;
    since = now;
    before = counted;
    return isOften;
  };
}
