/**
 * The bit form of a posting: one plane of bits says who is a member, three more hold level - 1. Membership has a plane of its own
 * so that intersections and counts read one word per 32 ids. A plane whose bits are all zero is not kept: all postings share one.
 *
 * Planes are cut into blocks of 4,096 ids. Per block the members of each level are counted, so that a search for a high level
 * passes over blocks that have none.
 */

export const BLOCK_SHIFT = 12;
export const WORDS_PER_BLOCK = 128;

export interface Dense {
  /** Always whole blocks; every plane is at least as long as `member`. */
  member: Uint32Array;
  bit0: Uint32Array;
  bit1: Uint32Array;
  bit2: Uint32Array;
  /** Which level planes belong to this posting alone (bits 1, 2, 4). */
  own: number;
  /** Eight numbers a block: all its members, then its members at level 1 to 7. */
  blocks: Uint16Array;
}

let zeros: Uint32Array = new Uint32Array(WORDS_PER_BLOCK);

function zeroPlane(words: number): Uint32Array {
  if (zeros.length < words) zeros = new Uint32Array(words * 2);
  return zeros;
}

function blocksFor(highest: number): number {
  return (highest >>> BLOCK_SHIFT) + 1;
}

/** What planes for ids up to `highest` take, with the level planes named in `own`. */
export function denseBytesFor(highest: number, own: number): number {
  const planes = 1 + (own & 1) + ((own >>> 1) & 1) + (own >>> 2);
  return blocksFor(highest) * (planes * WORDS_PER_BLOCK * 4 + 16);
}

export function createDense(highest: number, own: number): Dense {
  const words = blocksFor(highest) * WORDS_PER_BLOCK;
  return {
    member: new Uint32Array(words),
    bit0: own & 1 ? new Uint32Array(words) : zeroPlane(words),
    bit1: own & 2 ? new Uint32Array(words) : zeroPlane(words),
    bit2: own & 4 ? new Uint32Array(words) : zeroPlane(words),
    own,
    blocks: new Uint16Array(blocksFor(highest) * 8),
  };
}

export function reaches(dense: Dense, id: number): boolean {
  return id >>> 5 < dense.member.length;
}

function longer(plane: Uint32Array, words: number, own: number): Uint32Array {
  if (own === 0) return zeroPlane(words);
  const grown = new Uint32Array(words);
  grown.set(plane);
  return grown;
}

/** Makes room for `highest`, and an eighth more so that appending stays cheap. */
export function growDense(dense: Dense, highest: number): void {
  const blocks = blocksFor(highest + (highest >>> 3));
  const words = blocks * WORDS_PER_BLOCK;
  dense.member = longer(dense.member, words, 1);
  dense.bit0 = longer(dense.bit0, words, dense.own & 1);
  dense.bit1 = longer(dense.bit1, words, dense.own & 2);
  dense.bit2 = longer(dense.bit2, words, dense.own & 4);
  const counts = new Uint16Array(blocks * 8);
  counts.set(dense.blocks);
  dense.blocks = counts;
}

/** Level of an id the planes reach. */
export function denseLevel(dense: Dense, id: number): number {
  const word = id >>> 5;
  const shift = id & 31;
  if ((((dense.member[word] as number) >>> shift) & 1) === 0) return 0;
  return (
    1 +
    (((dense.bit0[word] as number) >>> shift) & 1) +
    (((dense.bit1[word] as number) >>> shift) & 1) * 2 +
    (((dense.bit2[word] as number) >>> shift) & 1) * 4
  );
}

function writeBit(plane: Uint32Array, word: number, bit: number, on: boolean): void {
  const value = plane[word] as number;
  plane[word] = on ? value | bit : value & ~bit;
}

function ownPlanes(dense: Dense, wanted: number): void {
  const missing = wanted & ~dense.own;
  if (missing === 0) return;
  const words = dense.member.length;
  if (missing & 1) dense.bit0 = new Uint32Array(words);
  if (missing & 2) dense.bit1 = new Uint32Array(words);
  if (missing & 4) dense.bit2 = new Uint32Array(words);
  dense.own |= missing;
}

/** Moves an id the planes reach from level `before` to `level` (0: no member). */
export function setDense(dense: Dense, id: number, before: number, level: number): void {
  const word = id >>> 5;
  const bit = 1 << (id & 31);
  const code = level === 0 ? 0 : level - 1;
  ownPlanes(dense, code);
  writeBit(dense.member, word, bit, level !== 0);
  if (dense.own & 1) writeBit(dense.bit0, word, bit, (code & 1) !== 0);
  if (dense.own & 2) writeBit(dense.bit1, word, bit, (code & 2) !== 0);
  if (dense.own & 4) writeBit(dense.bit2, word, bit, (code & 4) !== 0);
  const block = (id >>> BLOCK_SHIFT) * 8;
  const counts = dense.blocks;
  if (before !== 0) {
    counts[block] = (counts[block] as number) - 1;
    counts[block + before] = (counts[block + before] as number) - 1;
  }
  if (level !== 0) {
    counts[block] = (counts[block] as number) + 1;
    counts[block + level] = (counts[block + level] as number) + 1;
  }
}

/** Among the 32 ids of a word, those at `level` or above. */
export function atLeast(dense: Dense, word: number, level: number): number {
  const bit0 = dense.bit0[word] as number;
  const bit1 = dense.bit1[word] as number;
  const bit2 = dense.bit2[word] as number;
  switch (level) {
    case 1:
      return dense.member[word] as number;
    case 2:
      return bit0 | bit1 | bit2;
    case 3:
      return bit1 | bit2;
    case 4:
      return bit2 | (bit1 & bit0);
    case 5:
      return bit2;
    case 6:
      return bit2 & (bit1 | bit0);
    case 7:
      return bit2 & bit1;
    default:
      return level <= 0 ? -1 : 0;
  }
}

/** Among the 32 ids of a word, those at exactly `level`. */
function exactly(dense: Dense, word: number, level: number): number {
  return atLeast(dense, word, level) & ~atLeast(dense, word, level + 1);
}

/** The largest member below `below`, at `level` unless that is 0; 0 when there is none. */
export function denseBelow(dense: Dense, below: number, level: number): number {
  const end = Math.min(below, dense.member.length * 32);
  if (end <= 0) return 0;
  let word = (end - 1) >>> 5;
  let keep = -1 >>> (31 - ((end - 1) & 31));
  while (word >= 0) {
    if (dense.blocks[(word >>> 7) * 8 + level] === 0) {
      word = (word & ~(WORDS_PER_BLOCK - 1)) - 1;
      keep = -1;
      continue;
    }
    const found = (level === 0 ? (dense.member[word] as number) : exactly(dense, word, level)) & keep;
    if (found !== 0) return word * 32 + 31 - Math.clz32(found);
    keep = -1;
    word -= 1;
  }
  return 0;
}
