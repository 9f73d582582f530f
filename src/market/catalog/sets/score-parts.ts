import type { Posting } from './posting.ts';
import { atLeast, coversId, type Dense, denseLevel } from './posting-dense.ts';

/** A set that adds `weight` times the gain of its level to the score of its members. The weight is an integer of at least 1. */
export interface Weighted {
  readonly posting: Posting;
  readonly weight: number;
  /** True if an id may gain by this set without having one wanted term more, as by another spelling of one. */
  readonly isExtra: boolean;
}

/** A scored set while matches are read. */
export interface Part extends Weighted {
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

/** Highest scores by number of terms. */
export interface Bounds {
  /** `sums[n]` is the sum of the n highest gains of terms. */
  readonly sums: readonly number[];
  /** Places of the parts among the terms, by highest gain; -1 for an extra. */
  readonly places: readonly number[];
  /** Highest gain by all extras together. */
  readonly extras: number;
}

export function boundsOf(parts: readonly Part[]): Bounds {
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
export function boundOf({ sums, extras }: Bounds, count: number): number {
  return (sums[Math.min(Math.max(0, count), sums.length - 1)] as number) + extras;
}

/** Sets what an id with `count` terms needs in each set to reach a score of `least`. */
export function setNeeds(
  parts: readonly Part[],
  bounds: Bounds,
  { count, least }: { count: number; least: number },
): void {
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
function boundsOfOthers(
  bounds: Bounds,
  count: number,
  { place, most }: { place: number; most: number },
): [number, number] {
  if (place < 0) return [boundOf(bounds, count) - most, boundOf(bounds, count) - most];
  if (place < count) return [boundOf(bounds, count + 1) - most, boundOf(bounds, count) - most];
  return [boundOf(bounds, count), boundOf(bounds, count - 1)];
}

/** Returns the scored sets, those with the highest gain first. */
export function partsOf(scored: readonly Weighted[], gainsByLevel: readonly number[]): Part[] {
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

/** Keeps those of the 32 ids in `bits` that can reach the score. Call it with descending words. */
export function narrowByParts(parts: readonly Part[], word: number, bits: number): number {
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
export function scoreOf(parts: readonly Part[], id: number, least: number): number {
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
