import type { Digester } from '../object-store.ts';

const MOST_KEPT = 256;

/** Digests of unfinished uploads, so that an upload in many requests to this process need not be read again for its hash. */
export interface RunningDigests {
  /** Returns the digest of the upload's first bytes and forgets it. Null if this process has none that ends at this offset. */
  take(id: string, offset: number): Digester | null;
  /** Keeps the digest of all bytes up to an offset that is acknowledged, because only these never change. */
  keep(id: string, offset: number, digester: Digester): void;
}

export function createRunningDigests(): RunningDigests {
  const kept = new Map<string, { offset: number; digester: Digester }>();
  return {
    take: (id, offset) => {
      const found = kept.get(id);
      kept.delete(id);
      return found?.offset === offset ? found.digester : null;
    },
    keep: (id, offset, digester) => {
      kept.delete(id);
      const [oldest] = kept.keys();
      if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
      kept.set(id, { offset, digester });
    },
  };
}
