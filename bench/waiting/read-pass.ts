import { systemClock } from '../../src/platform/clock.ts';

/** Durations of the background job over all open payments, from `/metrics`. */
export interface PassTimes {
  medianMs: number;
  longestMs: number;
}

const LOOK_MS = 250;

/** Starts watching. The returned function stops it and returns the durations in milliseconds. */
export function watchPasses(metricsUrl: string): () => Promise<number[]> {
  const stopping = new AbortController();
  const seen: number[] = [];
  const running = (async () => {
    while (!stopping.signal.aborted) {
      const text = await (await fetch(metricsUrl)).text();
      const seconds = /^openaisle_reconcile_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1];
      if (seconds !== undefined) seen.push(Number(seconds) * 1_000);
      await systemClock.sleep(LOOK_MS, stopping.signal);
    }
  })();
  // The stop function reports the failure.
  running.catch(() => {});
  return async () => {
    stopping.abort();
    await running;
    return seen;
  };
}
