import type { Clock } from './clock.ts';

/** How many of something there are under each name. Names with none take no memory. */
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
