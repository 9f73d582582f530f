import { bitsWithAtLeast, bitsWithExactly, type Coverage, countTerms, type TermSets } from './coverage.ts';
import type { Posting } from './posting.ts';
import { blockOf, indexIn, type Point, positionAfter, type SortedIds, sortByKey } from './sorted-ids.ts';

/** Selects the ids that are in every set of `must`, in none of `mustNot`, have enough of the wanted terms, and pass every test. */
export interface Selection {
  /** May be empty only if `least` is at least 1. */
  readonly must: readonly Posting[];
  readonly mustNot: readonly Posting[];
  /** Run last, on ids that passed the sets. A test must not call `markMatches`, which reuses the same memory. */
  readonly tests: readonly ((id: number) => boolean)[];
  /** Wanted terms, of which an id needs at least `least`. Empty if there are none. */
  readonly wanted: readonly TermSets[];
  readonly least: number;
}

/** A bit per id that passes the sets, 32 per word, without empty words. Shares memory: valid until a set changes or `markMatches` runs. */
export interface Matches extends Selection {
  /** Word numbers in ascending order, and the bits of each. */
  readonly words: Uint32Array;
  readonly bits: Int32Array;
  /** Number of words in use. */
  readonly used: number;
  /** Number of bits set. */
  readonly marked: number;
  /** How many of the wanted terms each id has. Null if there are none. */
  readonly coverage: Coverage | null;
}

/** Rough costs in nanoseconds: sorting a match by its key, and stepping to the next id of an order. Only their ratio matters. */
const SORT_COST = 150;
const STEP_COST = 3.5;

let words = new Uint32Array(0);
// Signed, because the engine would turn unsigned words into doubles, at several times the cost.
let bits = new Int32Array(0);
let plane = new Int32Array(0);

/** Takes about 50 microseconds per set if each set has many of a million listings. */
export function markMatches(selection: Selection): Matches {
  const { must, mustNot, wanted, least } = selection;
  const coverage = wanted.length === 0 ? null : countTerms(wanted);
  const [smallest, ...others] = [...must].sort((a, b) => a.count - b.count);
  let used = 0;
  if (smallest !== undefined) {
    used = markMembers(smallest);
    for (const posting of others) used = keepBits(posting, -1, used);
    if (coverage !== null && least > 0) used = keepCovered(coverage, least, used);
  } else {
    if (coverage === null || least < 1) throw new Error('A selection needs a set to choose from');
    used = markCovered(coverage, least);
  }
  for (const posting of mustNot) used = keepBits(posting, 0, used);
  const isWhole = smallest !== undefined && others.length + mustNot.length === 0 && (coverage === null || least === 0);
  return { ...selection, words, bits, used, marked: isWhole ? smallest.count : countBits(used), coverage };
}

/** Keeps only the matches that have the most wanted terms. Returns them and that number of terms, which is 0 if there are no matches. */
export function keepBestCovered(matches: Matches): { matches: Matches; least: number } {
  const { coverage } = matches;
  if (coverage === null) return { matches, least: 0 };
  for (let count = coverage.terms; count > 0; count -= 1) {
    if (!hasMatchWith(matches, count)) continue;
    const used = keepCovered(coverage, count, matches.used);
    return { matches: { ...matches, least: count, used, marked: countBits(used) }, least: count };
  }
  return { matches, least: 0 };
}

/** Returns whether a match has exactly this number of wanted terms. */
export function hasMatchWith({ words: numbers, bits: marks, used, tests, coverage }: Matches, count: number): boolean {
  if (coverage === null) return false;
  for (let at = 0; at < used; at += 1) {
    const word = numbers[at] as number;
    for (let left = (marks[at] as number) & bitsWithExactly(coverage, word, count); left !== 0; left &= left - 1) {
      if (passesTests(tests, (word << 5) | (31 - Math.clz32(left & -left)))) return true;
    }
  }
  return false;
}

function makeRoom(room: number): void {
  if (words.length >= room) return;
  words = new Uint32Array(room * 2);
  bits = new Int32Array(room * 2);
}

function markCovered(coverage: Coverage, least: number): number {
  makeRoom(coverage.end);
  let used = 0;
  for (let word = 0; word < coverage.end; word += 1) {
    words[used] = word;
    bits[used] = bitsWithAtLeast(coverage, word, least);
    if (bits[used] !== 0) used += 1;
  }
  return used;
}

function keepCovered(coverage: Coverage, least: number, used: number): number {
  let left = 0;
  for (let at = 0; at < used; at += 1) {
    const word = words[at] as number;
    words[left] = word;
    bits[left] = (bits[at] as number) & bitsWithAtLeast(coverage, word, least);
    if (bits[left] !== 0) left += 1;
  }
  return left;
}

function markMembers({ dense, entries, count }: Posting): number {
  const room = dense === null ? count : dense.member.length;
  makeRoom(room);
  let used = 0;
  for (let word = 0; dense !== null && word < room; word += 1) {
    words[used] = word;
    bits[used] = dense.member[word] as number;
    if (bits[used] !== 0) used += 1;
  }
  for (let index = 0; dense === null && index < count; ) {
    words[used] = (entries[index] as number) >>> 8;
    bits[used] = 0;
    for (const word = words[used]; index < count && (entries[index] as number) >>> 8 === word; index += 1)
      bits[used] = (bits[used] as number) | (1 << ((entries[index] as number) >>> 3));
    used += 1;
  }
  return used;
}

/** Keeps only ids that are in the set (`wanted` -1) or only ids that are not (0). Returns how many words still have bits. */
function keepBits({ dense, entries, count }: Posting, wanted: number, used: number): number {
  let left = 0;
  let index = 0;
  for (let at = 0; at < used; at += 1) {
    const word = words[at] as number;
    let members = 0;
    if (dense !== null) members = word < dense.member.length ? (dense.member[word] as number) | 0 : 0;
    else {
      while (index < count && (entries[index] as number) >>> 8 < word) index += 1;
      for (; index < count && (entries[index] as number) >>> 8 === word; index += 1)
        members |= 1 << ((entries[index] as number) >>> 3);
    }
    words[left] = word;
    bits[left] = (bits[at] as number) & (wanted === 0 ? ~members : members);
    if (bits[left] !== 0) left += 1;
  }
  return left;
}

function countBits(used: number): number {
  let count = 0;
  for (let at = 0; at < used; at += 1) count += bitsOf(bits[at] as number);
  return count;
}

export function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

export function passesTests(tests: Selection['tests'], id: number): boolean {
  for (let at = 0; at < tests.length; at += 1) {
    if (tests[at]?.(id) === false) return false;
  }
  return true;
}

export function isMatch({ words, bits, used, tests }: Matches, id: number): boolean {
  const at = wordsUpTo(words, used, id >>> 5) - 1;
  return words[at] === id >>> 5 && (((bits[at] as number) >>> (id & 31)) & 1) === 1 && passesTests(tests, id);
}

/** Counts the words whose number is at most `word`. */
function wordsUpTo(words: Uint32Array, used: number, word: number): number {
  let low = 0;
  let high = used;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((words[middle] as number) <= word) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function countMatches(matches: Matches): number {
  if (matches.tests.length === 0) return matches.marked;
  let total = 0;
  forEachMatch(matches, Number.POSITIVE_INFINITY, () => {
    total += 1;
    return true;
  });
  return total;
}

export function newestMatches(matches: Matches, below: number, limit: number): number[] {
  const found: number[] = [];
  forEachMatch(matches, below, (id) => found.length < limit && found.push(id) < limit);
  return found;
}

/** Visits matches newest first, until `visit` returns false. */
function forEachMatch({ words, bits, used, tests }: Matches, below: number, visit: (id: number) => boolean): void {
  for (let at = used - 1; at >= 0; at -= 1) {
    const word = words[at] as number;
    for (let left = bits[at] as number; left !== 0; ) {
      const bit = 31 - Math.clz32(left);
      left ^= 1 << bit;
      const id = (word << 5) | bit;
      if (id < below && passesTests(tests, id) && !visit(id)) return;
    }
  }
}

/** Returns matches in the order of a key, starting after a point. Every match must be in the order. */
export function matchesInOrder(matches: Matches, order: SortedIds, after: Point | null, limit: number): number[] {
  const { marked } = matches;
  if (limit <= 0 || marked === 0) return [];
  const steps = Math.min(order.count, (limit * order.count) / marked);
  const listMatches = marked * SORT_COST < steps * STEP_COST ? sortMatches : followOrder;
  return listMatches(matches, order, after, limit);
}

/** Tests the order's ids one by one. Fast with many matches; otherwise at most a few milliseconds per million ids. */
function followOrder(matches: Matches, order: SortedIds, after: Point | null, limit: number): number[] {
  const found: number[] = [];
  const { tests } = matches;
  const end = spreadIntoPlane(matches);
  const position = positionAfter(order, after);
  let index = indexIn(position);
  for (let at = blockOf(position); at < order.blocks.length; at += 1) {
    const block = order.blocks[at] as Uint32Array;
    const size = order.sizes[at] as number;
    for (; index < size; index += 1) {
      const id = block[index] as number;
      if (id >= end || (((plane[id >>> 5] as number) >>> (id & 31)) & 1) === 0 || !passesTests(tests, id)) continue;
      found.push(id);
      if (found.length === limit) return found;
    }
    index = 0;
  }
  return found;
}

/** Writes each word to its index in `plane`. Returns the first id after the last word. */
function spreadIntoPlane({ words, bits, used }: Matches): number {
  const length = used === 0 ? 0 : (words[used - 1] as number) + 1;
  if (plane.length < length) plane = new Int32Array(length * 2);
  else plane.fill(0, 0, length);
  for (let at = 0; at < used; at += 1) plane[words[at] as number] = bits[at] as number;
  return length * 32;
}

/** Sorts all matches, which is fast if there are few. */
function sortMatches(matches: Matches, { keyOf, descending }: SortedIds, after: Point | null, limit: number): number[] {
  const ids = Uint32Array.from(newestMatches(matches, Number.POSITIVE_INFINITY, matches.marked));
  const sorted = sortByKey(ids, keyOf, descending);
  const isBehind = (id: number): boolean => {
    if (after === null) return true;
    const key = keyOf(id);
    return key === after.key ? id < after.id : key < after.key === descending;
  };
  const first = sorted.findIndex(isBehind);
  return first < 0 ? [] : [...sorted.subarray(first, first + limit)];
}
