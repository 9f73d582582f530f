import type { Posting } from './posting.ts';

/** Sets of one wanted term: its own, and those of other spellings. An id that is in any of them has the term. */
export type TermSets = readonly Posting[];

/**
 * How many of the wanted terms each id has. Bit `k` of the counts of 32 ids is one word of plane `k`, so that 32 counts grow at once. Shares
 * memory: valid until `countTerms` runs again.
 */
export interface Coverage {
  readonly terms: number;
  readonly planes: readonly Int32Array[];
  /** Number of words in use. Ids beyond them have none of the terms. */
  readonly end: number;
}

/** Six planes count to 63. */
export const MOST_TERMS = 63;

let planes: Int32Array[] = [];
let union = new Int32Array(0);

export function countTerms(terms: readonly TermSets[]): Coverage {
  const used = 32 - Math.clz32(terms.length);
  const end = Math.max(0, ...terms.flat().map(wordsOf));
  if ((planes[used - 1]?.length ?? 0) < end)
    planes = Array.from({ length: 6 }, () => new Int32Array(end + (end >>> 2)));
  else for (const plane of planes.slice(0, used)) plane.fill(0, 0, end);
  const counting = planes.slice(0, used);
  for (const sets of terms) {
    const [first, second] = sets;
    if (first !== undefined && second === undefined) addSet(counting, first);
    else addUnion(counting, sets, end);
  }
  return { terms: terms.length, planes: counting, end };
}

function wordsOf({ dense, entries, count }: Posting): number {
  if (dense !== null) return dense.member.length;
  return count === 0 ? 0 : ((entries[count - 1] as number) >>> 8) + 1;
}

/** Adds one to the counts of the ids in `bits`. */
function addOne(counting: readonly Int32Array[], word: number, bits: number): void {
  let carry = bits;
  for (let at = 0; carry !== 0; at += 1) {
    const plane = counting[at] as Int32Array;
    const before = plane[word] as number;
    plane[word] = before ^ carry;
    carry &= before;
  }
}

function addSet(counting: readonly Int32Array[], { dense, entries, count }: Posting): void {
  if (dense !== null) {
    const { member } = dense;
    for (let word = 0; word < member.length; word += 1) addOne(counting, word, member[word] as number);
    return;
  }
  for (let index = 0; index < count; index += 1) {
    const entry = entries[index] as number;
    addOne(counting, entry >>> 8, 1 << (entry >>> 3));
  }
}

function addUnion(counting: readonly Int32Array[], sets: TermSets, end: number): void {
  if (union.length < end) union = new Int32Array(end + (end >>> 2));
  else union.fill(0, 0, end);
  for (const { dense, entries, count } of sets) {
    if (dense !== null) {
      const { member } = dense;
      for (let word = 0; word < member.length; word += 1)
        union[word] = (union[word] as number) | (member[word] as number);
      continue;
    }
    for (let index = 0; index < count; index += 1) {
      const entry = entries[index] as number;
      union[entry >>> 8] = (union[entry >>> 8] as number) | (1 << (entry >>> 3));
    }
  }
  for (let word = 0; word < end; word += 1) addOne(counting, word, union[word] as number);
}

/** Returns a bit for each of a word's 32 ids that has at least `least` terms. */
export function hasAtLeast({ planes: counted, end, terms }: Coverage, word: number, least: number): number {
  if (word >= end || least > terms) return least <= 0 ? -1 : 0;
  let more = 0;
  let equal = -1;
  for (let at = counted.length - 1; at >= 0; at -= 1) {
    const bits = (counted[at] as Int32Array)[word] as number;
    if (((least >>> at) & 1) === 0) {
      more |= equal & bits;
      equal &= ~bits;
    } else equal &= bits;
  }
  return more | equal;
}

/** Returns a bit for each of a word's 32 ids that has exactly `count` terms. */
export function hasExactly({ planes: counted, end, terms }: Coverage, word: number, count: number): number {
  if (word >= end || count > terms) return count === 0 ? -1 : 0;
  let equal = -1;
  for (let at = 0; at < counted.length; at += 1) {
    const bits = (counted[at] as Int32Array)[word] as number;
    equal &= ((count >>> at) & 1) === 0 ? ~bits : bits;
  }
  return equal;
}
