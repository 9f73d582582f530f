import { type Matches, passesTests } from './matches.ts';
import type { Posting } from './posting.ts';
import { atLeast, coversId, type Dense, denseLevel } from './posting-dense.ts';

/** A set that adds `weight` times level to the score of its members. The weight is an integer of at least 1. */
export interface Weighted {
  readonly posting: Posting;
  readonly weight: number;
}

export interface Scored {
  id: number;
  score: number;
}

interface Part extends Weighted {
  readonly dense: Dense | null;
  readonly most: number;
  /** Lowest level in this set with which a match can still beat the worst result, even at the highest level in every other set. */
  low: number;
  /** For a list: entries from this index on are newer than all remaining candidates. */
  index: number;
}

/** A rank is score * ID_RANGE + id. It is exact, because scores stay below 2^24. */
const ID_RANGE = 2 ** 29;
/** Extra candidates to collect before they are sorted and cut. */
const EXTRA_CANDIDATES = 64;

/**
 * Returns matches by score (equal scores newest first) after a given point. Scans once, from the newest match down. Once enough are found,
 * further matches must beat the worst one; the levels this needs are tested for 32 ids at a time.
 */
export function bestMatches(
  { words, bits, used, tests }: Matches,
  scored: readonly Weighted[],
  after: Scored | null,
  limit: number,
): Scored[] {
  const parts = scored.map(partOf);
  const highest = parts.reduce((sum, { weight, most }) => sum + weight * most, 0);
  const most = Math.min(highest, after?.score ?? highest);
  const behind = after === null ? Number.POSITIVE_INFINITY : after.score * ID_RANGE + after.id;
  const ranks = new Float64Array(limit + EXTRA_CANDIDATES);
  let size = 0;
  let worst = -1;
  for (let at = used - 1; at >= 0 && worst < most; at -= 1) {
    const word = words[at] as number;
    let remaining = narrowByLevels(parts, word, bits[at] as number);
    while (remaining !== 0) {
      const bit = 31 - Math.clz32(remaining);
      remaining ^= 1 << bit;
      const id = (word << 5) | bit;
      const score = scoreOf(parts, id);
      const rank = score * ID_RANGE + id;
      if (score <= worst || rank >= behind || !passesTests(tests, id)) continue;
      ranks[size] = rank;
      size += 1;
      if (size < ranks.length) continue;
      ranks.sort().copyWithin(0, EXTRA_CANDIDATES);
      size = limit;
      worst = Math.floor((ranks[0] as number) / ID_RANGE);
      for (const part of parts) part.low = Math.floor((worst - highest) / part.weight + part.most) + 1;
    }
  }
  const best = ranks.subarray(0, size).sort().reverse().subarray(0, limit);
  return Array.from(best, (rank) => ({ id: rank % ID_RANGE, score: Math.floor(rank / ID_RANGE) }));
}

function partOf({ posting, weight }: Weighted): Part {
  const { dense, planes, count } = posting;
  return {
    posting,
    weight,
    dense,
    most: Math.min(7, 1 + (dense?.own ?? planes)),
    low: 0,
    index: dense === null ? count : 0,
  };
}

/** Of the 32 ids in `bits`, keeps those whose level in each dense set is high enough to reach the score. */
function narrowByLevels(parts: readonly Part[], word: number, bits: number): number {
  let remaining = bits;
  for (let at = 0; remaining !== 0 && at < parts.length; at += 1) {
    const { dense, low } = parts[at] as Part;
    if (dense !== null && low > 0) remaining &= atLeast(dense, word, low);
  }
  return remaining;
}

/** Call it with descending ids. */
function scoreOf(parts: readonly Part[], id: number): number {
  let score = 0;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Part;
    const { dense, weight } = part;
    if (dense === null) score += weight * nextLevel(part, id);
    else if (coversId(dense, id)) score += weight * denseLevel(dense, id);
  }
  return score;
}

function nextLevel(part: Part, id: number): number {
  const { entries } = part.posting;
  let { index } = part;
  while (index > 0 && (entries[index - 1] as number) >>> 3 > id) index -= 1;
  part.index = index;
  const entry = index === 0 ? 0 : (entries[index - 1] as number);
  return entry >>> 3 === id ? entry & 7 : 0;
}
