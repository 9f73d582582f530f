import {
  coversId,
  createDense,
  type Dense,
  denseBelow,
  denseBytesFor,
  denseLevel,
  growDense,
  setDense,
} from './posting-dense.ts';

/** A set of listing ids (1 to 2^29 - 1) with levels from 1 to 7, stored as a sorted list or, if there are many, as bit planes (`dense`). */
export interface Posting {
  readonly count: number;
  /** Empty while `dense` is set. Otherwise id * 8 + level in ascending order, with spare room at the end. */
  readonly entries: Uint32Array;
  readonly dense: Dense | null;
  /** Mask of the level planes that this list would need as `dense`. */
  readonly planes: number;
}

type MutablePosting = { -readonly [K in keyof Posting]: Posting[K] };

const HIGHEST_ID = 2 ** 29 - 1;
const DENSE_FROM = 256;
const NO_ENTRIES = new Uint32Array(0);

export function createPosting(): Posting {
  return { count: 0, entries: NO_ENTRIES, dense: null, planes: 0 };
}

/** Makes a set from a sorted list of entries, which it keeps. */
export function postingOfEntries(entries: Uint32Array, planes: number): Posting {
  return { count: entries.length, entries, dense: null, planes };
}

export function postingOfPlanes(dense: Dense, count: number): Posting {
  return { count, entries: NO_ENTRIES, dense, planes: dense.own };
}

export function levelOf(posting: Posting, id: number): number {
  const { dense } = posting;
  if (dense !== null) return coversId(dense, id) ? denseLevel(dense, id) : 0;
  return levelAt(posting.entries, posting.count, indexOf(posting.entries, posting.count, id), id);
}

/** Level 0 removes the id. */
export function setLevel(posting: Posting, id: number, level: number): void {
  if (!(id >= 1 && id <= HIGHEST_ID && level >= 0 && level <= 7)) {
    throw new RangeError(`No place in a set for id ${id} at level ${level}`);
  }
  if (posting.dense === null) setInList(posting, id, level);
  else setInPlanes(posting, posting.dense, id, level);
}

/** Returns the largest member below `below`, or 0 if there is none. */
export function memberBelow(posting: Posting, below: number): number {
  const { dense, entries, count } = posting;
  if (dense !== null) return denseBelow(dense, below);
  const index = indexOf(entries, count, below) - 1;
  return index < 0 ? 0 : (entries[index] as number) >>> 3;
}

export function postingBytes(posting: Posting): number {
  const { dense } = posting;
  // Bytes of the objects without their arrays, measured on Node 24.
  const objects = 280;
  if (dense === null) return objects + posting.entries.byteLength;
  return objects + denseBytesFor(dense.member.length * 32 - 1, dense.own);
}

/** Visits members in ascending order. Do not change the set meanwhile. */
export function forEachMember(posting: Posting, visit: (id: number, level: number) => void): void {
  const { dense, entries, count } = posting;
  if (dense === null) {
    for (let index = 0; index < count; index += 1) {
      const entry = entries[index] as number;
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

function setInList(posting: MutablePosting, id: number, level: number): void {
  const { entries, count } = posting;
  // Try the end first, because ids are mostly added in ascending order.
  const last = count === 0 ? 0 : (entries[count - 1] as number) >>> 3;
  const index = id > last ? count : indexOf(entries, count, id);
  const before = levelAt(entries, count, index, id);
  if (before === level) return;
  if (before === 0) posting.entries = insertEntry(entries, count, index, entryOf(id, level));
  else if (level === 0) posting.entries = removeEntry(entries, count, index);
  else entries[index] = entryOf(id, level);
  countMove(posting, before, level);
  if (level === 0) return;
  posting.planes |= level - 1;
  if (posting.count >= DENSE_FROM) becomeDenseIfFull(posting);
}

function setInPlanes(posting: MutablePosting, dense: Dense, id: number, level: number): void {
  if (!coversId(dense, id)) {
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
  setDense(dense, id, level);
  countMove(posting, before, level);
  if (level !== 0 && dense.own === planes) return;
  if (isThin(posting.count, dense.member.length * 32 - 1, dense.own)) becomeSparse(posting, dense);
}

function countMove(posting: MutablePosting, before: number, level: number): void {
  if (before === 0) posting.count += 1;
  else if (level === 0) posting.count -= 1;
}

/**
 * Bit planes may take twice as much memory as the list, because they make intersections faster. A set becomes a list again only if the
 * planes take more than four times as much, so that it does not switch back and forth.
 */
function becomeDenseIfFull(posting: MutablePosting): void {
  const { entries, count } = posting;
  const highest = (entries[count - 1] as number) >>> 3;
  if (count * 8 < denseBytesFor(highest, posting.planes)) return;
  const dense = createDense(highest, posting.planes);
  for (let index = 0; index < count; index += 1) {
    const entry = entries[index] as number;
    setDense(dense, entry >>> 3, entry & 7);
  }
  posting.dense = dense;
  posting.entries = NO_ENTRIES;
}

function isThin(count: number, highest: number, own: number): boolean {
  return count * 16 < denseBytesFor(highest, own);
}

function becomeSparse(posting: MutablePosting, dense: Dense): void {
  const entries = new Uint32Array(posting.count + (posting.count >>> 2));
  let index = 0;
  forEachMember(posting, (id, level) => {
    entries[index] = entryOf(id, level);
    index += 1;
  });
  posting.planes = dense.own;
  posting.dense = null;
  posting.entries = entries;
}

function entryOf(id: number, level: number): number {
  return ((id << 3) | level) >>> 0;
}

/** Returns the index of the first of `count` entries whose id is at least `id`. */
function indexOf(entries: Uint32Array, count: number, id: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle] as number) >>> 3 < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the level of `id` at the index from `indexOf`, or 0 if another id is there. */
function levelAt(entries: Uint32Array, count: number, index: number, id: number): number {
  if (index >= count) return 0;
  const entry = entries[index] as number;
  return entry >>> 3 === id ? entry & 7 : 0;
}

/** Returns the array to use from now on: a larger copy if it was full. */
function insertEntry(entries: Uint32Array, count: number, index: number, entry: number): Uint32Array {
  let target = entries;
  if (count === entries.length) {
    // Most words occur once or twice, so small lists start tiny; long ones grow by a quarter to waste little.
    target = new Uint32Array(count < 64 ? Math.max(2, count * 2) : count + (count >>> 2));
    target.set(entries);
  }
  if (index < count) target.copyWithin(index + 1, index, count);
  target[index] = entry;
  return target;
}

/** Returns the array to use from now on: a smaller copy if most of it was empty. */
function removeEntry(entries: Uint32Array, count: number, index: number): Uint32Array {
  const left = count - 1;
  if (left === 0) return NO_ENTRIES;
  entries.copyWithin(index, index + 1, count);
  if (entries.length <= 16 || left * 3 > entries.length) return entries;
  return entries.slice(0, left + (left >>> 2));
}
