import { type Coverage, hasAtLeast } from './coverage.ts';
import { bitsOf, isMatch, type Matches, passesTests } from './matches.ts';
import type { Posting } from './posting.ts';
import {
  type Bounds,
  boundOf,
  boundsOf,
  narrowByParts,
  type Part,
  partsOf,
  scoreOf,
  setNeeds,
  type Weighted,
} from './score-parts.ts';

/** How matches are ranked: by score, then by figure, then newest first. */
export interface Ranking {
  readonly scored: readonly Weighted[];
  /** Gains by level, from 0 to 7. They rise with the level, and level 0 has none. */
  readonly gains: readonly number[];
  /** These come before all others, whatever their score. */
  readonly first: ReadonlySet<number>;
  /** A figure of a listing from 0 to 15. */
  figureOf(id: number): number;
  /** Ids with a figure above 0. */
  readonly withFigure: Posting;
}

/** The key holds score and figure; a higher key comes first. */
export interface Scored {
  id: number;
  key: number;
}

const FIGURES = 16;
const FIRST_SCORE = 2 ** 19;
/** A rank is key * ID_RANGE + id. It is exact, because keys stay below 2^24. */
const ID_RANGE = 2 ** 29;
/** Extra candidates to collect before they are sorted and cut. */
const EXTRA_CANDIDATES = 64;

/** The best ranks so far, and the worst of them once there are enough. */
interface Best {
  readonly ranks: Float64Array;
  readonly limit: number;
  size: number;
  worst: number;
}

/**
 * Returns the matches with the highest ranks after a given point. Matches with more of the wanted terms are read first, because they make
 * the worst result good enough to leave out most others: those whose number of terms, or whose level in one of them, cannot be enough. The
 * levels are tested for 32 ids at a time.
 */
export function bestMatches(matches: Matches, ranking: Ranking, after: Scored | null, limit: number): Scored[] {
  const best: Best = { ranks: new Float64Array(limit + EXTRA_CANDIDATES), limit, size: 0, worst: -1 };
  const parts = partsOf(ranking.scored, ranking.gains);
  const behind = after === null ? Number.POSITIVE_INFINITY : after.key * ID_RANGE + after.id;
  const scan: Scan = { matches, ranking, parts, best, behind, bounds: boundsOf(parts) };
  for (const id of ranking.first) {
    if (isMatch(matches, id)) addRank(scan, rankOf(ranking, FIRST_SCORE, id));
  }
  for (const pass of passesOf(scan)) scanMatches(scan, pass);
  const { ranks, size } = best;
  return Array.from(ranks.subarray(0, size).sort().reverse().subarray(0, limit), (rank) => ({
    id: rank % ID_RANGE,
    key: Math.floor(rank / ID_RANGE),
  }));
}

interface Scan {
  readonly matches: Matches;
  readonly ranking: Ranking;
  readonly parts: readonly Part[];
  readonly best: Best;
  /** Only ranks below this are returned. */
  readonly behind: number;
  readonly bounds: Bounds;
}

/** Part of the matches that is read at once. */
interface Pass {
  /** How many terms an id of this pass has. */
  readonly least: number;
  readonly most: number;
  /** Whether its ids have a figure; null for both. */
  readonly hasFigure: boolean | null;
}

/**
 * With several terms, ids that have the most of them are read first. With one, those with a figure are, so that among all others those that
 * tie are newest first and the rest can be left out.
 */
function passesOf({ matches, ranking, parts, best }: Scan): readonly Pass[] {
  const { coverage, least } = matches;
  if (coverage === null) {
    const all = { least: 0, most: parts.length };
    if (parts.length > 1 || ranking.withFigure.count === 0) return [{ ...all, hasFigure: null }];
    return [true, false].map((hasFigure) => ({ ...all, hasFigure }));
  }
  const many = manyTerms(matches, coverage, best.limit * ENOUGH_CANDIDATES);
  const first = { least: many, most: coverage.terms, hasFigure: null };
  return many === least ? [first] : [first, { least, most: many - 1, hasFigure: null }];
}

/** Enough of the matches with many terms to make the worst result good. */
const ENOUGH_CANDIDATES = 4;
const SAMPLES = 256;

/** Returns the highest number of terms that about `enough` matches have, judged by a sample. */
function manyTerms({ words, bits, used, least }: Matches, coverage: Coverage, enough: number): number {
  const step = Math.max(1, Math.floor(used / SAMPLES));
  for (let count = coverage.terms; count > least; count -= 1) {
    let sampled = 0;
    for (let at = 0; at < used; at += step)
      sampled += bitsOf((bits[at] as number) & hasAtLeast(coverage, words[at] as number, count));
    if (sampled * step >= enough) return count;
  }
  return least;
}

/** Reads the matches of one pass, newest first, as long as one can beat the worst result. */
function scanMatches(scan: Scan, pass: Pass): void {
  const { matches, parts, best, bounds } = scan;
  const { words, used } = matches;
  const bound = boundOf(bounds, pass.most) * FIGURES + (pass.hasFigure === false ? 0 : FIGURES - 1);
  for (const part of parts) part.index = part.dense === null ? part.posting.count : 0;
  const members = createMembers(scan.ranking.withFigure);
  let worst = Number.NaN;
  let needed = pass.least;
  for (let at = used - 1; at >= 0; at -= 1) {
    const word = words[at] as number;
    if (bound * ID_RANGE + ((word << 5) | 31) <= best.worst) return;
    if (best.worst !== worst) {
      worst = best.worst;
      const least = leastScore(best);
      setNeeds(parts, bounds, { count: pass.most, least });
      while (needed < pass.most && boundOf(bounds, needed) < least) needed += 1;
    }
    let remaining = matchesOf(matches, { least: needed, most: pass.most }, at);
    if (pass.hasFigure !== null) remaining &= pass.hasFigure ? members(word) : ~members(word);
    if (remaining !== 0) rankWord(scan, word, narrowByParts(parts, word, remaining));
  }
}

/** Returns the matches of a pass among 32 ids. */
function matchesOf(
  { words, bits, coverage, least: leastOfAll }: Matches,
  { least, most }: Pick<Pass, 'least' | 'most'>,
  at: number,
): number {
  let remaining = bits[at] as number;
  if (coverage === null) return remaining;
  const word = words[at] as number;
  if (least > leastOfAll) remaining &= hasAtLeast(coverage, word, least);
  if (most < coverage.terms) remaining &= ~hasAtLeast(coverage, word, most + 1);
  return remaining;
}

/** Ranks the ids in `bits`, newest first. */
function rankWord(scan: Scan, word: number, bits: number): void {
  const { ranking, parts, best, behind, matches } = scan;
  const least = leastScore(best);
  for (let remaining = bits; remaining !== 0; ) {
    const bit = 31 - Math.clz32(remaining);
    remaining ^= 1 << bit;
    const id = (word << 5) | bit;
    const rank = rankOf(ranking, scoreOf(parts, id, least), id);
    if (rank <= best.worst || rank >= behind || ranking.first.has(id) || !passesTests(matches.tests, id)) continue;
    addRank(scan, rank);
  }
}

/** Returns the score that an id needs to beat the worst result, or to be as good. */
function leastScore({ worst }: Best): number {
  return worst < 0 ? 0 : Math.floor(worst / ID_RANGE / FIGURES);
}

/** Returns a function that gives the members among a word's 32 ids. Call it with descending words. */
function createMembers({ dense, entries, count }: Posting): (word: number) => number {
  if (dense !== null) return (word) => (word < dense.member.length ? (dense.member[word] as number) : 0);
  let index = count;
  return (word) => {
    while (index > 0 && (entries[index - 1] as number) >>> 8 > word) index -= 1;
    let members = 0;
    for (let at = index; at > 0 && (entries[at - 1] as number) >>> 8 === word; at -= 1)
      members |= 1 << ((entries[at - 1] as number) >>> 3);
    return members;
  };
}

function rankOf({ figureOf }: Ranking, score: number, id: number): number {
  return (score * FIGURES + figureOf(id)) * ID_RANGE + id;
}

function addRank({ best, behind }: Scan, rank: number): void {
  if (rank >= behind || rank <= best.worst) return;
  const { ranks, limit } = best;
  ranks[best.size] = rank;
  best.size += 1;
  if (best.size < ranks.length) return;
  ranks.sort().copyWithin(0, EXTRA_CANDIDATES);
  best.size = limit;
  best.worst = ranks[0] as number;
}
