import {
  createDense,
  type Dense,
  denseBelow,
  denseBytesFor,
  denseLevel,
  growDense,
  reaches,
  setDense,
} from './posting-dense.ts';
import { entryOf, insertEntry, lastAtLevel, levelAt, NO_ENTRIES, placeOf, removeEntry } from './posting-sparse.ts';

/**
 * A set of listing ids (1 to 2^29 - 1) whose members have a level from 1 to 7. Few members are a sorted list, many are planes
 * of bits: `dense` says which of the two holds them.
 */
export interface Posting {
  readonly count: number;
  /** Empty while `dense` is there. */
  readonly entries: Uint32Array;
  readonly dense: Dense | null;
  /** Members per level; empty while the list is so short that counting is as quick as keeping. */
  readonly levels: Uint32Array;
}

type Open = { -readonly [K in keyof Posting]: Posting[K] };

const HIGHEST_ID = 2 ** 29 - 1;
const COUNTED_BELOW = 64;
const DENSE_FROM = 256;

export function createPosting(): Posting {
  return { count: 0, entries: NO_ENTRIES, dense: null, levels: NO_ENTRIES };
}

/**
 * A posting of these entries (`entryOf`), whatever their order; where an id has several levels the highest stays. The array is the
 * posting's from now on.
 */
export function gatherPosting(entries: Uint32Array): Posting {
  const posting: Open = { count: 0, entries, dense: null, levels: NO_ENTRIES };
  entries.sort();
  let count = 0;
  for (const entry of entries) {
    // Of one id the highest level comes last.
    if (count > 0 && (entries[count - 1] as number) >>> 3 === entry >>> 3) count -= 1;
    entries[count] = entry;
    count += 1;
  }
  posting.count = count;
  if (count * entries.BYTES_PER_ELEMENT < entries.buffer.byteLength) posting.entries = entries.slice(0, count);
  if (count > COUNTED_BELOW) keepCounts(posting);
  if (count >= DENSE_FROM) becomeDenseIfFull(posting);
  return posting;
}

export function levelOf(posting: Posting, id: number): number {
  const { dense } = posting;
  if (dense !== null) return reaches(dense, id) ? denseLevel(dense, id) : 0;
  return levelAt(posting.entries, posting.count, placeOf(posting.entries, posting.count, id), id);
}

/** Level 0 removes. */
export function setLevel(posting: Posting, id: number, level: number): void {
  if (!(id >= 1 && id <= HIGHEST_ID && level >= 0 && level <= 7)) {
    throw new RangeError(`No place in a set for id ${id} at level ${level}`);
  }
  if (posting.dense === null) setInList(posting, id, level);
  else setInPlanes(posting, posting.dense, id, level);
}

export function countAtLevel(posting: Posting, level: number): number {
  if (level < 1 || level > 7) return 0;
  if (posting.levels !== NO_ENTRIES) return posting.levels[level] as number;
  let found = 0;
  for (let place = 0; place < posting.count; place += 1) {
    if (((posting.entries[place] as number) & 7) === level) found += 1;
  }
  return found;
}

/** The largest member below `below`, of `level` where one is given; 0 when there is none. */
export function memberBelow(posting: Posting, below: number, level = 0): number {
  const { dense, entries } = posting;
  if (dense !== null) return denseBelow(dense, below, level);
  const end = placeOf(entries, posting.count, below);
  const place = level === 0 ? end - 1 : lastAtLevel(entries, end, level);
  return place < 0 ? 0 : (entries[place] as number) >>> 3;
}

export function postingBytes(posting: Posting): number {
  const { dense } = posting;
  // What the objects themselves take beside their arrays, as measured on Node 24.
  const objects = 280;
  if (dense === null) return objects + posting.entries.byteLength + posting.levels.byteLength;
  const reached = dense.member.length * 32 - 1;
  return objects + denseBytesFor(reached, dense.own) + posting.levels.byteLength;
}

/** Ascending. The posting must not be changed meanwhile. */
export function forEachMember(posting: Posting, visit: (id: number, level: number) => void): void {
  const { dense, entries, count } = posting;
  if (dense === null) {
    for (let place = 0; place < count; place += 1) {
      const entry = entries[place] as number;
      visit(entry >>> 3, entry & 7);
    }
    return;
  }
  for (let word = 0; word < dense.member.length; word += 1) {
    let left = (dense.member[word] as number) | 0;
    while (left !== 0) {
      const lowest = left & -left;
      const id = word * 32 + 31 - Math.clz32(lowest);
      visit(id, denseLevel(dense, id));
      left ^= lowest;
    }
  }
}

function setInList(posting: Open, id: number, level: number): void {
  const { entries, count } = posting;
  // Listings are mostly added in the order of their ids.
  const last = count === 0 ? 0 : (entries[count - 1] as number) >>> 3;
  const place = id > last ? count : placeOf(entries, count, id);
  const before = levelAt(entries, count, place, id);
  if (before === level) return;
  if (before === 0) posting.entries = insertEntry(entries, count, place, entryOf(id, level));
  else if (level === 0) posting.entries = removeEntry(entries, count, place);
  else entries[place] = entryOf(id, level);
  countMove(posting, before, level);
  if (posting.count >= DENSE_FROM && level !== 0) becomeDenseIfFull(posting);
}

function setInPlanes(posting: Open, dense: Dense, id: number, level: number): void {
  if (!reaches(dense, id)) {
    if (level === 0) return;
    if (isThin(posting.count, id, dense.own)) {
      becomeSparse(posting, dense);
      setInList(posting, id, level);
      return;
    }
    growDense(dense, id);
  }
  const before = denseLevel(dense, id);
  if (before === level) return;
  const planes = dense.own;
  setDense(dense, id, before, level);
  countMove(posting, before, level);
  if (level !== 0 && dense.own === planes) return;
  if (isThin(posting.count, dense.member.length * 32 - 1, dense.own)) becomeSparse(posting, dense);
}

function countMove(posting: Open, before: number, level: number): void {
  if (before === 0) posting.count += 1;
  else if (level === 0) posting.count -= 1;
  const { levels } = posting;
  if (levels !== NO_ENTRIES) {
    if (before !== 0) levels[before] = (levels[before] as number) - 1;
    if (level !== 0) levels[level] = (levels[level] as number) + 1;
  } else if (posting.count > COUNTED_BELOW) keepCounts(posting);
}

function keepCounts(posting: Open): void {
  const counted = new Uint32Array(8);
  for (let place = 0; place < posting.count; place += 1) {
    const level = (posting.entries[place] as number) & 7;
    counted[level] = (counted[level] as number) + 1;
  }
  posting.levels = counted;
}

/** The level planes a posting with these counts needs. */
function planesFor(levels: Uint32Array): number {
  let own = 0;
  for (let level = 2; level < 8; level += 1) {
    if (levels[level] !== 0) own |= level - 1;
  }
  return own;
}

/**
 * Planes are worth up to twice the memory of the list, as intersections with them are that much quicker. Going back asks for
 * four times, so that a set at the edge does not change its form with every listing.
 */
function becomeDenseIfFull(posting: Open): void {
  const { entries, count } = posting;
  const highest = (entries[count - 1] as number) >>> 3;
  const own = planesFor(posting.levels);
  if (count * 8 < denseBytesFor(highest, own)) return;
  const dense = createDense(highest, own);
  for (let place = 0; place < count; place += 1) {
    const entry = entries[place] as number;
    setDense(dense, entry >>> 3, 0, entry & 7);
  }
  posting.dense = dense;
  posting.entries = NO_ENTRIES;
}

function isThin(count: number, highest: number, own: number): boolean {
  return count * 16 < denseBytesFor(highest, own);
}

function becomeSparse(posting: Open, dense: Dense): void {
  const entries = new Uint32Array(posting.count + (posting.count >>> 2));
  let place = 0;
  forEachMember(posting, (id) => {
    entries[place] = entryOf(id, denseLevel(dense, id));
    place += 1;
  });
  posting.dense = null;
  posting.entries = entries;
}
