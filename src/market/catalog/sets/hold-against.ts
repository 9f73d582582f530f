import type { Posting } from './posting.ts';
import { type Dense, denseLevel, reaches } from './posting-dense.ts';
import { passes, type Selection } from './selection.ts';

export const BATCH = 4096;

/** The batch at hand: candidates, newest first, and what they score so far. One for all, as only one selection is worked with. */
export const IDS = new Uint32Array(BATCH);
export const SCORES = new Float64Array(BATCH);

/** One set that candidates from a list are held against. */
export interface Filter {
  readonly posting: Posting;
  /** 1: candidates must be members, -1: must not be, 0: may be, and score if they are. */
  readonly wanted: number;
  readonly weight: number;
  /** In a list: everything from here on is newer than the candidates to come. */
  place: number;
}

/** Leaves those of the first `raw` candidates that the set lets through, adds to their scores, and returns how many they are. */
export function holdAgainst(filter: Filter, raw: number): number {
  const { dense } = filter.posting;
  if (dense === null) return holdAgainstList(filter, raw);
  // Reading the level takes four times as long as asking for membership alone.
  if (filter.wanted !== 0 && filter.weight === 0)
    return holdAgainstMembers(dense.member, filter.wanted > 0 ? 1 : 0, raw);
  return holdAgainstPlanes(filter, dense, raw);
}

/** `wanted` is the bit that candidates must have in the plane. */
function holdAgainstMembers(plane: Uint32Array, wanted: number, raw: number): number {
  const end = plane.length * 32;
  let count = 0;
  for (let at = 0; at < raw; at += 1) {
    const id = IDS[at] as number;
    const bit = id < end ? ((plane[id >>> 5] as number) >>> (id & 31)) & 1 : 0;
    if (bit !== wanted) continue;
    IDS[count] = id;
    SCORES[count] = SCORES[at] as number;
    count += 1;
  }
  return count;
}

function holdAgainstPlanes({ wanted, weight }: Filter, dense: Dense, raw: number): number {
  let count = 0;
  for (let at = 0; at < raw; at += 1) {
    const id = IDS[at] as number;
    const level = reaches(dense, id) ? denseLevel(dense, id) : 0;
    if (wanted > 0 ? level === 0 : wanted < 0 && level !== 0) continue;
    IDS[count] = id;
    SCORES[count] = (SCORES[at] as number) + level * weight;
    count += 1;
  }
  return count;
}

function holdAgainstList(filter: Filter, raw: number): number {
  const { wanted, weight } = filter;
  const { entries } = filter.posting;
  let { place } = filter;
  let count = 0;
  for (let at = 0; at < raw; at += 1) {
    const id = IDS[at] as number;
    place = placeFrom(entries, place, id);
    const entry = place === 0 ? 0 : (entries[place - 1] as number);
    const level = entry >>> 3 === id ? entry & 7 : 0;
    if (wanted > 0 ? level === 0 : wanted < 0 && level !== 0) continue;
    IDS[count] = id;
    SCORES[count] = (SCORES[at] as number) + level * weight;
    count += 1;
  }
  filter.place = place;
  return count;
}

const NEAR_ENTRIES = 6;

/**
 * Place behind the last entry whose id is at most `id`, looked for from `end` downwards: one by one at first, which is quickest in
 * lists of like length, then in steps that double.
 */
function placeFrom(entries: Uint32Array, end: number, id: number): number {
  let high = end;
  const near = Math.max(0, end - NEAR_ENTRIES);
  while (high > near && (entries[high - 1] as number) >>> 3 > id) high -= 1;
  if (high > near || high === 0) return high;
  let step = 1;
  while (high - step >= 0 && (entries[high - step] as number) >>> 3 > id) {
    high -= step;
    step *= 2;
  }
  let low = Math.max(0, high - step);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle] as number) >>> 3 <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function holdAgainstTests(tests: Selection['tests'], raw: number): number {
  let count = 0;
  for (let at = 0; at < raw; at += 1) {
    const id = IDS[at] as number;
    if (!passes(tests, id)) continue;
    IDS[count] = id;
    SCORES[count] = SCORES[at] as number;
    count += 1;
  }
  return count;
}
