import {
  estimateSimilarity,
  type Fingerprint,
  fingerprintOf,
  MAX_DIFFERENT_BITS,
  SLOTS,
} from '../../src/market/listings/near/fingerprint.ts';
import { SHINGLE_WORDS } from '../../src/market/listings/near/shingles.ts';

/** The market refuses goods with at least this true likeness as near duplicates. */
export const NEAR = 0.9;

/** Returns the true likeness, from the runs of words themselves. */
export function jaccard(one: readonly string[], other: readonly string[]): number {
  const [a, b] = [runsOf(one), runsOf(other)];
  let both = 0;
  for (const run of a) if (b.has(run)) both += 1;
  return both / Math.max(1, a.size + b.size - both);
}

function runsOf(words: readonly string[]): Set<string> {
  const runs = new Set<string>();
  for (let at = 0; at + SHINGLE_WORDS <= words.length; at += 1) {
    runs.add(
      words
        .slice(at, at + SHINGLE_WORDS)
        .join(' ')
        .toLowerCase(),
    );
  }
  return runs;
}

/** Returns null if nothing but a licence is left. */
export function fingerprintOfText(text: string): Fingerprint | null {
  return fingerprintOf(Buffer.from(text));
}

/** Decides like the market's query: refuses if there is a common band and few bits differ. */
export function wouldRefuse(one: Fingerprint | null, other: Fingerprint | null): boolean {
  if (one === null || other === null) return false;
  if (!one.bands.some((key, band) => other.bands[band] === key)) return false;
  return estimateSimilarity(one, other) >= 1 - (2 * MAX_DIFFERENT_BITS) / SLOTS;
}
