/** Latencies in buckets of about 2 %, so that recording needs no memory. */
export interface Histogram {
  counts: Float64Array;
}

const PER_DOUBLING = 32;
const DOUBLINGS = 28;

export function createHistogram(): Histogram {
  return { counts: new Float64Array(PER_DOUBLING * DOUBLINGS) };
}

/** Records a latency. The first bucket includes everything up to one microsecond. */
export function record({ counts }: Histogram, micros: number): void {
  const bucket = micros <= 1 ? 0 : Math.min(counts.length - 1, Math.floor(Math.log2(micros) * PER_DOUBLING));
  counts[bucket] = (counts[bucket] ?? 0) + 1;
}

export function mergeHistograms(all: readonly ArrayLike<number>[]): Histogram {
  const merged = createHistogram();
  for (const one of all)
    for (const [bucket, count] of Array.from(one).entries())
      merged.counts[bucket] = (merged.counts[bucket] ?? 0) + count;
  return merged;
}

export function quantileMs({ counts }: Histogram, share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of counts.entries()) {
    seen += count;
    if (seen >= total * share && count > 0) return 2 ** ((bucket + 0.5) / PER_DOUBLING) / 1_000;
  }
  return Number.NaN;
}
