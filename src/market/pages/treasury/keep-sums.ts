import type { Clock } from '../../../platform/clock.ts';

const KEPT_MS = 10_000;
/** What took long to count is kept so many times as long, so that counting never takes much of the database. */
const TIMES_AS_LONG = 50;

export interface KeptSums<Sums> {
  sums: Sums;
  countedAtMs: number;
}

/** Counts at most once at a time, and not again for some seconds. A failure reaches all callers that wait for it and is not kept. */
export function keepSums<Sums>(clock: Clock, count: () => Promise<Sums>): () => Promise<KeptSums<Sums>> {
  let kept: (KeptSums<Sums> & { untilMs: number }) | null = null;
  let counting: Promise<KeptSums<Sums>> | null = null;
  const countNow = async (): Promise<KeptSums<Sums>> => {
    const countedAtMs = clock.now();
    const sums = await count();
    const endedMs = clock.now();
    kept = { sums, countedAtMs, untilMs: endedMs + Math.max(KEPT_MS, TIMES_AS_LONG * (endedMs - countedAtMs)) };
    return kept;
  };
  return () => {
    if (kept !== null && clock.now() < kept.untilMs) return Promise.resolve(kept);
    counting ??= countNow().finally(() => {
      counting = null;
    });
    return counting;
  };
}
