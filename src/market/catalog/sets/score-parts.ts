import { countAtLevel, levelOf, type Posting } from './posting.ts';
import { atLeast, type Dense } from './posting-dense.ts';

/** A set that counts for the score, and what a better candidate's level in it must at least and can at most be. */
export interface Part {
  readonly posting: Posting;
  readonly weight: number;
  /** 1 where every candidate is a member. */
  readonly least: number;
  readonly most: number;
  /** The highest level in the block at hand. */
  here: number;
  low: number;
  high: number;
}

/** With more sets the sums would be too many to try; any bound is right, a close one ends the search sooner. */
const TRIED_PARTS = 3;

/** The highest sum up to `ceiling` that levels can make, -1 when there is none. */
export function highestScore(parts: readonly Part[], ceiling: number): number {
  if (parts.length <= TRIED_PARTS) return highestSum(parts, 0, ceiling);
  let sum = 0;
  for (const { weight, most } of parts) sum += weight * most;
  return Math.min(sum, ceiling);
}

function highestSum(parts: readonly Part[], from: number, ceiling: number): number {
  if (ceiling < 0) return -1;
  const part = parts[from];
  if (part === undefined) return 0;
  let best = -1;
  for (let level = part.most; level >= part.least; level -= 1) {
    if (level > 0 && countAtLevel(part.posting, level) === 0) continue;
    const own = part.weight * level;
    const rest = highestSum(parts, from + 1, ceiling - own);
    if (rest >= 0) best = Math.max(best, own + rest);
  }
  return best;
}

/** Returns the highest sum that a member of this block can have. */
export function lookAtBlock(parts: readonly Part[], block: number): number {
  let sum = 0;
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Part;
    part.here = highestHere(part, block);
    sum += part.weight * part.here;
  }
  return sum;
}

function highestHere({ posting, most }: Part, block: number): number {
  const { dense } = posting;
  if (dense === null) return most;
  const counts = dense.blocks;
  if (block * 8 >= counts.length) return 0;
  let level = most;
  while (level > 0 && counts[block * 8 + level] === 0) level -= 1;
  return level;
}

/** What each level has to be when all the others are as high as they can be, and can be when the others are as low. */
export function bound(parts: readonly Part[], reachable: number, threshold: number, ceiling: number): void {
  let lowest = 0;
  for (let at = 0; at < parts.length; at += 1) {
    const { weight, least } = parts[at] as Part;
    lowest += weight * least;
  }
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] as Part;
    const { weight, here, least } = part;
    part.low = Math.floor((threshold - (reachable - weight * here)) / weight) + 1;
    part.high = Math.min(7, Math.floor((ceiling - (lowest - weight * least)) / weight));
  }
}

function narrowBy(part: Part, dense: Dense, word: number, bits: number): number {
  const { here, low, high, least } = part;
  if (here === 0) return low > 0 ? 0 : bits;
  let left = bits;
  if (low > least) left &= atLeast(dense, word, low);
  if (high < here) left &= ~atLeast(dense, word, high + 1);
  return left;
}

/** Leaves those of 32 ids whose levels can add up to what is looked for, as far as each set can tell alone. */
export function narrow(parts: readonly Part[], word: number, bits: number): number {
  let left = bits;
  for (let at = 0; left !== 0 && at < parts.length; at += 1) {
    const part = parts[at] as Part;
    if (part.posting.dense !== null) left = narrowBy(part, part.posting.dense, word, left);
  }
  return left;
}

/** Scores of the 32 ids of a word; only those asked for are in a defined state. */
export const SCORES = new Int32Array(32);

/** Set by set, not id by id, so that the words of its planes are read once. */
export function scoreWord(parts: readonly Part[], word: number, bits: number): void {
  for (let left = bits; left !== 0; ) {
    const bit = 31 - Math.clz32(left);
    left ^= 1 << bit;
    SCORES[bit] = 0;
  }
  for (let at = 0; at < parts.length; at += 1) {
    const { posting, weight, here } = parts[at] as Part;
    if (here === 0) continue;
    if (posting.dense === null) addFromList(posting, weight, word, bits);
    else addFromPlanes(posting.dense, weight, word, bits);
  }
}

function addFromPlanes({ member, bit0, bit1, bit2 }: Dense, weight: number, word: number, bits: number): void {
  const zero = (bit0[word] as number) | 0;
  const one = (bit1[word] as number) | 0;
  const two = (bit2[word] as number) | 0;
  for (let left = bits & (member[word] as number); left !== 0; ) {
    const bit = 31 - Math.clz32(left);
    left ^= 1 << bit;
    const level = 1 + ((zero >>> bit) & 1) + ((one >>> bit) & 1) * 2 + ((two >>> bit) & 1) * 4;
    SCORES[bit] = (SCORES[bit] as number) + Math.imul(weight, level);
  }
}

function addFromList(posting: Posting, weight: number, word: number, bits: number): void {
  for (let left = bits; left !== 0; ) {
    const bit = 31 - Math.clz32(left);
    left ^= 1 << bit;
    SCORES[bit] = (SCORES[bit] as number) + weight * levelOf(posting, (word << 5) | bit);
  }
}
