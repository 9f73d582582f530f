import type { Clock } from './clock.ts';

export interface RateOptions {
  clock: Clock;
  /** How often it has happened so far. */
  count(): number;
  /** From how many a second on it is often. */
  perSecond: number;
}

/** Long enough for something that comes in bursts. */
const STRETCH_MS = 100;

/** Tells whether something happens often: in the last stretch of time that was looked at, of a tenth of a second or more. */
export function createRate({ clock, count, perSecond }: RateOptions): () => boolean {
  let since = Number.NEGATIVE_INFINITY;
  let before = 0;
  let isOften = false;
  return () => {
    const now = clock.now();
    const elapsedMs = now - since;
    // Put back, the clock says nothing of how long it was.
    if (elapsedMs >= 0 && elapsedMs < STRETCH_MS) return isOften;
    const counted = count();
    isOften = elapsedMs > 0 && (counted - before) * 1_000 >= perSecond * elapsedMs;
    since = now;
    before = counted;
    return isOften;
  };
}
