import type { Posting } from './posting.ts';
import { BLOCK_SHIFT, type Dense, WORDS_PER_BLOCK } from './posting-dense.ts';
import { placeOf } from './posting-sparse.ts';
import type { Selection } from './selection.ts';
import { smallestOf } from './selection.ts';

/** The sets of a selection (not its tests) put together block by block, one bit per id. */
export interface BlockMask {
  /** How many blocks can hold anything. */
  readonly blocks: number;
  readonly must: readonly Dense[];
  readonly mustNot: readonly Dense[];
  readonly mustLists: readonly Posting[];
  readonly mustNotLists: readonly Posting[];
  /** Shared by all masks, as only one is worked with at a time: what `loadBlock` found last. */
  readonly words: Uint32Array;
}

const WORDS = new Uint32Array(WORDS_PER_BLOCK);
const LISTED = new Uint32Array(WORDS_PER_BLOCK);

export function createBlockMask({ must, mustNot }: Selection): BlockMask {
  // The set with the fewest members first: where it has none, the others are not looked at.
  const smallest = smallestOf(must);
  const ordered = [smallest, ...must.filter((posting) => posting !== smallest)];
  const planes = ordered.flatMap(({ dense }) => (dense === null ? [] : [dense]));
  let words = Number.MAX_SAFE_INTEGER;
  for (const { member } of planes) words = Math.min(words, member.length);
  return {
    blocks: planes.length === 0 ? 0 : words / WORDS_PER_BLOCK,
    must: planes,
    mustNot: mustNot.flatMap(({ dense }) => (dense === null ? [] : [dense])),
    mustLists: ordered.filter(({ dense }) => dense === null),
    mustNotLists: mustNot.filter(({ dense, count }) => dense === null && count > 0),
    words: WORDS,
  };
}

/** Returns false, with the words in no defined state, when the block has nothing. */
export function loadBlock(mask: BlockMask, block: number): boolean {
  const { must, mustNot, mustLists, mustNotLists } = mask;
  for (let at = 0; at < must.length; at += 1) {
    if ((must[at] as Dense).blocks[block * 8] === 0) return false;
  }
  const base = block * WORDS_PER_BLOCK;
  const first = (must[0] as Dense).member;
  if (must.length === 1) copyWords(first, base);
  else joinWords(first, (must[1] as Dense).member, base);
  for (let at = 2; at < must.length; at += 1) keepWords((must[at] as Dense).member, base);
  for (let at = 0; at < mustNot.length; at += 1) {
    const { member } = mustNot[at] as Dense;
    if (base < member.length) dropWords(member, base);
  }
  for (let at = 0; at < mustLists.length; at += 1) keepListed(mustLists[at] as Posting, block);
  for (let at = 0; at < mustNotLists.length; at += 1) dropListed(mustNotLists[at] as Posting, block);
  return true;
}

function copyWords(plane: Uint32Array, base: number): void {
  for (let at = 0; at < WORDS_PER_BLOCK; at += 1) WORDS[at] = plane[base + at] as number;
}

function joinWords(plane: Uint32Array, other: Uint32Array, base: number): void {
  for (let at = 0; at < WORDS_PER_BLOCK; at += 1) {
    WORDS[at] = (plane[base + at] as number) & (other[base + at] as number);
  }
}

function keepWords(plane: Uint32Array, base: number): void {
  for (let at = 0; at < WORDS_PER_BLOCK; at += 1) WORDS[at] = (WORDS[at] as number) & (plane[base + at] as number);
}

function dropWords(plane: Uint32Array, base: number): void {
  for (let at = 0; at < WORDS_PER_BLOCK; at += 1) WORDS[at] = (WORDS[at] as number) & ~(plane[base + at] as number);
}

function keepListed({ entries, count }: Posting, block: number): void {
  LISTED.fill(0);
  const start = block << BLOCK_SHIFT;
  const end = start + (1 << BLOCK_SHIFT);
  for (let place = placeOf(entries, count, start); place < count; place += 1) {
    const id = (entries[place] as number) >>> 3;
    if (id >= end) break;
    const word = (id - start) >>> 5;
    LISTED[word] = (LISTED[word] as number) | (1 << (id & 31));
  }
  keepWords(LISTED, 0);
}

function dropListed({ entries, count }: Posting, block: number): void {
  const start = block << BLOCK_SHIFT;
  const end = start + (1 << BLOCK_SHIFT);
  for (let place = placeOf(entries, count, start); place < count; place += 1) {
    const id = (entries[place] as number) >>> 3;
    if (id >= end) break;
    const word = (id - start) >>> 5;
    WORDS[word] = (WORDS[word] as number) & ~(1 << (id & 31));
  }
}
