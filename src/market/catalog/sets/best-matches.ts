import { type Matches, passesTests } from './matches.ts';
import type { Posting } from './posting.ts';
import { atLeast, coversId, type Dense, denseLevel } from './posting-dense.ts';

/** A set that adds to the score of its members: weight (a whole number, at least 1) times level. */
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
  /** The lowest level a better candidate needs here, given the highest levels in all other sets. */
  low: number;
  /** In a list: entries from here on are newer than all remaining candidates. */
  index: number;
}

/** Score times this plus id is one exact number: a score stays below 2^24. */
const IDS = 2 ** 29;
/** Extra candidates collected before they are sorted and cut. */
const ROOM = 64;

/**
 * Returns matches by score, equal scores newest first, starting after a point. Scans once from the newest match down. Once enough are
 * found, the rest has to beat the worst of them, and the levels that needs are tested for 32 ids at a time.
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
  const behind = after === null ? Number.POSITIVE_INFINITY : after.score * IDS + after.id;
  const ranks = new Float64Array(limit + ROOM);
  let size = 0;
  let worst = -1;
  for (let at = used - 1; at >= 0 && worst < most; at -= 1) {
    const word = words[at] as number;
    let left = narrowByLevels(parts, word, bits[at] as number);
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      left ^= 1 << bit;
      const id = (word << 5) | bit;
      const score = scoreOf(parts, id);
      const rank = score * IDS + id;
      if (score <= worst || rank >= behind || !passesTests(tests, id)) continue;
      ranks[size] = rank;
      size += 1;
      if (size < ranks.length) continue;
      ranks.sort().copyWithin(0, ROOM);
      size = limit;
      worst = Math.floor((ranks[0] as number) / IDS);
      for (const part of parts) part.low = Math.floor((worst - highest) / part.weight + part.most) + 1;
    }
  }
  const best = ranks.subarray(0, size).sort().reverse().subarray(0, limit);
  return Array.from(best, (rank) => ({ id: rank % IDS, score: Math.floor(rank / IDS) }));
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

/** Keeps those of 32 ids that each set alone allows to reach the score. */
function narrowByLevels(parts: readonly Part[], word: number, bits: number): number {
  let left = bits;
  for (let at = 0; left !== 0 && at < parts.length; at += 1) {
    const { dense, low } = parts[at] as Part;
    if (dense !== null && low > 0) left &= atLeast(dense, word, low);
  }
  return left;
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
