import {
  type BoundsWorld,
  MAX_MS,
  type Measured,
  measureWell,
  type Target,
} from '../../test/support/bounds/bounds-world.ts';
import type { Running } from '../run-bench.ts';

export interface Row {
  site: Target['site'];
  endpoint: string;
  requests: number;
  /** Size of the largest request in bytes, head and body. */
  largest_bytes: number;
  /** The request that took the most CPU. */
  worst: Measured;
  /** Why this endpoint may take longer, or null if it may not. */
  exempt: string | null;
}

/** Measures each endpoint and keeps the most expensive of all hostile requests to it. */
export async function measureTable(bounds: BoundsWorld, { signal, tell }: Running): Promise<Row[]> {
  const rows: Row[] = [];
  for (const target of bounds.targets) {
    const measured: Measured[] = [];
    for (const request of target.requests) {
      signal.throwIfAborted();
      measured.push(await measureWell(bounds, target, request));
    }
    const worst = measured.reduce((most, one) => (one.ms > most.ms ? one : most));
    const { site, name, exempt } = target;
    rows.push({
      ...{ site, endpoint: name, requests: measured.length, worst, exempt },
      largest_bytes: Math.max(...measured.map(({ bytes }) => bytes)),
    });
    tell(`${site} ${name}: ${worst.ms.toFixed(1)} ms for ${worst.content}`);
  }
  return rows;
}

export function tooDear(rows: readonly Row[]): Row[] {
  return rows.filter(({ worst, exempt }) => exempt === null && worst.ms > MAX_MS);
}
