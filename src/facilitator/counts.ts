/** What has happened since the start, for the metrics. */
export interface Counts {
  ended: Map<string, number>;
  causes: Map<string, number>;
  deferred: Map<string, number>;
  rests: number;
  gasUsed: bigint;
  gasPaidUnits: bigint;
  replacements: number;
  fills: number;
}

export function createCounts(): Counts {
  return {
    ended: new Map(),
    causes: new Map(),
    deferred: new Map(),
    rests: 0,
    gasUsed: 0n,
    gasPaidUnits: 0n,
    replacements: 0,
    fills: 0,
  };
}

export function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
