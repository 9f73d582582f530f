import { systemClock } from '../../src/platform/clock.ts';
import { openWire, requestBytes } from '../wire.ts';

export interface Times {
  requests: number;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
}

const EVERY_MS = 10;

/** Measures other clients' latency by one connection that requests shelves at a fixed rate until stopped. */
export async function timeRequests(url: string, stopped: AbortSignal): Promise<Times> {
  const wire = await openWire(url, { keepBody: false });
  const request = requestBytes(url, { method: 'GET', path: '/api/shelves' });
  const times: number[] = [];
  while (!stopped.aborted) {
    const begin = performance.now();
    const { status } = await wire.ask(request);
    if (status !== 200) throw new Error(`GET /api/shelves is answered ${status}`);
    const took = performance.now() - begin;
    times.push(took);
    if (took < EVERY_MS) await systemClock.sleep(EVERY_MS - took, stopped);
  }
  wire.close();
  times.sort((one, other) => one - other);
  const quantile = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { requests: times.length, p50Ms: quantile(0.5), p99Ms: quantile(0.99), longestMs: quantile(1) };
}
