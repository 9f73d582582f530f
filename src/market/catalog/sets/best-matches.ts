import { type Coverage, hasExactly } from './coverage.ts';
import { isMatch, type Matches, passesTests } from './matches.ts';
import { atLeast, coversId, type Dense, denseLevel } from './posting-dense.ts';
import { levelOf, type Posting } from './posting.ts';

/** A set that adds `weight` times the gain of its level to the score of its members. The weight is an integer of at least 1. */
export interface Weighted {
  readonly posting: Posting;
  readonly weight: number;
  /** True if an id may gain by this set without having one wanted term more, as by another spelling of one. */
  readonly isExtra: boolean;
}

/** How matches are ranked: by score, then by figure, then newest first. */
export interface Ranking {
  readonly scored: readonly Weighted[];
  /** Gains by level, from 0 to 7. They rise with the level, and level 0 has none. */
  readonly gains: readonly number[];
  /** These come before all others. */
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
const FIRST_BONUS = 2 ** 18;
/** A rank is key * ID_RANGE + id. It is exact, because keys stay below 2^23. */
const ID_RANGE = 2 ** 29;
/** Extra candidates to collect before they are sorted and cut. */
const EXTRA_CANDIDATES = 64;

interface Part extends Weighted {
  readonly dense: Dense | null;
  /** Gain by level, times the weight. */
  readonly gains: readonly number[];
  readonly most: number;
  /** Lowest level with which a match of the current pass can still beat the worst result. */
  low: number;
  /** True if a match of the current pass needs this set or an earlier one to beat the worst result. */
  isEssential: boolean;
  /** Highest gain of all later parts together. */
  rest: number;
  /** For a list: entries from this index on are newer than all remaining candidates. */
  index: number;
}

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
  const parts = partsOf(ranking);
  const behind = after === null ? Number.POSITIVE_INFINITY : after.key * ID_RANGE + after.id;
  const scan: Scan = { matches, ranking, parts, best, behind, bounds: boundsOf(parts) };
  for (const id of ranking.first) {
    if (isMatch(matches, id)) addRank(scan, rankOf(ranking, FIRST_BONUS + scoreById(parts, id), id));
  }
  const { coverage } = matches;
  if (coverage === null || coverage.terms === 0) scanBoth(scan, null, parts.length);
  else for (let count = coverage.terms; count >= matches.least; count -= 1) scanBoth(scan, coverage, count);
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

/** Highest scores by number of terms. */
interface Bounds {
  /** `sums[n]` is the sum of the n highest gains of terms. */
  readonly sums: readonly number[];
  /** Places of the parts among the terms, by highest gain; -1 for an extra. */
  readonly places: readonly number[];
  /** Highest gain by all extras together. */
  readonly extras: number;
}

function boundsOf(parts: readonly Part[]): Bounds {
  const sums = [0];
  const places: number[] = [];
  let extras = 0;
  for (const { isExtra, most } of parts) {
    places.push(isExtra ? -1 : sums.length - 1);
    if (isExtra) extras += most;
    else sums.push((sums.at(-1) as number) + most);
  }
  return { sums, places, extras };
}

/** Returns the highest score of an id that has `count` terms. */
function boundOf({ sums, extras }: Bounds, count: number): number {
  return (sums[Math.min(Math.max(0, count), sums.length - 1)] as number) + extras;
}

/** Ids with a figure go first, so that among all others those that tie are newest first, and the rest can be left out. */
function scanBoth(scan: Scan, coverage: Coverage | null, count: number): void {
  const { withFigure } = scan.ranking;
  if (withFigure.count > 0) scanMatches(scan, { coverage, count, hasFigure: true });
  scanMatches(scan, { coverage, count, hasFigure: false });
}

interface Pass {
  readonly coverage: Coverage | null;
  /** Number of terms that an id of this pass has; without coverage, the most it can have. */
  readonly count: number;
  readonly hasFigure: boolean;
}

/** Reads the matches of one pass, newest first. */
function scanMatches(scan: Scan, pass: Pass): void {
  const { matches, ranking, parts, best, behind, bounds } = scan;
  const { words, bits, used, tests } = matches;
  const { first, withFigure } = ranking;
  const bound = boundOf(bounds, pass.count) * FIGURES + (pass.hasFigure ? FIGURES - 1 : 0);
  for (const part of parts) part.index = part.dense === null ? part.posting.count : 0;
  let worst = best.worst;
  let least = setLowest(scan, pass);
  const members = createMembers(withFigure);
  for (let at = used - 1; at >= 0; at -= 1) {
    const word = words[at] as number;
    if (bound * ID_RANGE + ((word << 5) | 31) <= best.worst) return;
    let remaining = bits[at] as number;
    if (pass.coverage !== null) remaining &= hasExactly(pass.coverage, word, pass.count);
    if (remaining === 0) continue;
    remaining &= pass.hasFigure ? members(word) : ~members(word);
    if (remaining !== 0) remaining = narrowByParts(parts, word, remaining);
    while (remaining !== 0) {
      const bit = 31 - Math.clz32(remaining);
      remaining ^= 1 << bit;
      const id = (word << 5) | bit;
      const rank = rankOf(ranking, scoreOf(parts, id, least), id);
      if (rank <= best.worst || rank >= behind || first.has(id) || !passesTests(tests, id)) continue;
      addRank(scan, rank);
    }
    if (best.worst === worst) continue;
    worst = best.worst;
    least = setLowest(scan, pass);
  }
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

/** Sets what an id of this pass needs in each set to reach the score of the worst result. Returns that score. */
function setLowest({ parts, best, bounds }: Scan, { count }: Pass): number {
  const least = best.worst < 0 ? 0 : Math.floor(best.worst / ID_RANGE / FIGURES);
  let needsMore = true;
  for (const [index, part] of parts.entries()) {
    // Without this part and all before it, an id has at most the first `count` of the others.
    needsMore &&= highestOf(parts, index, count) >= least;
    part.isEssential = needsMore;
    part.low = 0;
    const [lacking, having] = boundsOfOthers(bounds, count, { place: bounds.places[index] as number, most: part.most });
    if (lacking >= least) continue;
    part.low = 1;
    while (part.low < 8 && having + (part.gains[part.low] as number) < least) part.low += 1;
  }
  return least;
}

/** Returns the highest score of an id that has `count` terms, all among the parts from `from` on. */
function highestOf(parts: readonly Part[], from: number, count: number): number {
  let terms = 0;
  let score = 0;
  for (let at = from; at < parts.length; at += 1) {
    const { isExtra, most } = parts[at] as Part;
    if (!isExtra && terms === count) continue;
    if (!isExtra) terms += 1;
    score += most;
  }
  return score;
}

/** Returns the highest score by all other sets, of an id with `count` terms that lacks this set and of one that has it. */
function boundsOfOthers(bounds: Bounds, count: number, { place, most }: { place: number; most: number }): [number, number] {
  if (place < 0) return [boundOf(bounds, count) - most, boundOf(bounds, count) - most];
  if (place < count) return [boundOf(bounds, count + 1) - most, boundOf(bounds, count) - most];
  return [boundOf(bounds, count), boundOf(bounds, count - 1)];
}

/** Returns the scored sets, those with the highest gain first. */
function partsOf({ scored, gains: gainsByLevel }: Ranking): Part[] {
  const parts = scored.map((weighted): Part => {
    const { dense, planes, count } = weighted.posting;
    const highest = Math.min(7, 1 + (dense?.own ?? planes));
    const gains = gainsByLevel.map((gain) => gain * weighted.weight);
    const most = count === 0 ? 0 : (gains[highest] as number);
    return { ...weighted, dense, gains, most, low: 0, isEssential: true, rest: 0, index: 0 };
  });
  parts.sort((a, b) => b.most - a.most);
  for (let at = parts.length - 2; at >= 0; at -= 1) {
    const next = parts[at + 1] as Part;
    (parts[at] as Part).rest = next.rest + next.most;
  }
  return parts;
}

/** Of the 32 ids in `bits`, keeps those that can reach the score. Call it with descending words. */
function narrowByParts(parts: readonly Part[], word: number, bits: number): number {
  let remaining = bits;
  let essential = 0;
  let isOpen = true;
  for (let at = 0; remaining !== 0 && at < parts.length; at += 1) {
    const part = parts[at] as Part;
    if (part.low > 0) remaining &= membersFrom(part, word, part.low);
    if (!part.isEssential) isOpen = false;
    else if (isOpen) essential |= membersFrom(part, word, 1);
  }
  return isOpen ? remaining : remaining & essential;
}

/** Returns a bit for each of a word's 32 ids whose level is at least `least`. */
function membersFrom(part: Part, word: number, least: number): number {
  const { dense } = part;
  if (dense !== null) return word < dense.member.length ? atLeast(dense, word, least) : 0;
  const { entries } = part.posting;
  let { index } = part;
  while (index > 0 && (entries[index - 1] as number) >>> 8 > word) index -= 1;
  part.index = index;
  let members = 0;
  for (; index > 0 && (entries[index - 1] as number) >>> 8 === word; index -= 1) {
    const entry = entries[index - 1] as number;
    if ((entry & 7) >= least) members |= 1 << (entry >>> 3);
  }
  return members;
}

/** Returns the score of an id, or some lower number as soon as it is certain to be below `least`. Call it with descending ids. */
function scoreOf(parts: readonly Part[], id: number, least: number): number {
  let score = 0;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Part;
    const { dense, gains } = part;
    if (dense === null) score += gains[nextLevel(part, id)] as number;
    else if (coversId(dense, id)) score += gains[denseLevel(dense, id)] as number;
    if (score + part.rest < least) return score;
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

function scoreById(parts: readonly Part[], id: number): number {
  return parts.reduce((score, { posting, gains }) => score + (gains[levelOf(posting, id)] as number), 0);
}
