import { systemClock } from '../../src/platform/clock.ts';

/** How long passes over all open payments took, as `/metrics` tells it. */
export interface PassTimes {
  medianMs: number;
  longestMs: number;
}

const LOOK_MS = 250;

/** Looks until it is stopped. */
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
  // Said when it is stopped.
  running.catch(() => {});
  return async () => {
    stopping.abort();
    await running;
    return seen;
  };
}
