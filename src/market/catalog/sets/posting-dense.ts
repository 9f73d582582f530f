/** A set as bit planes: one for membership, so that intersections read one word per 32 ids, and three for level - 1. */
export interface Dense {
  /** No level plane is shorter than this one. */
  member: Uint32Array;
  bit0: Uint32Array;
  bit1: Uint32Array;
  bit2: Uint32Array;
  /** Mask of the level planes (bits 1, 2, 4) that this set owns. The others are shared. */
  own: number;
}

const FIRST_WORDS = 128;
let zeros: Uint32Array = new Uint32Array(FIRST_WORDS);

function zeroPlane(words: number): Uint32Array {
  if (zeros.length < words) zeros = new Uint32Array(words * 2);
  return zeros;
}

function wordsFor(highest: number): number {
  return Math.max(FIRST_WORDS, (highest >>> 5) + 1);
}

/** Returns the bytes of planes for ids up to `highest`, with the level planes in `own`. */
export function denseBytesFor(highest: number, own: number): number {
  return wordsFor(highest) * 4 * (1 + (own & 1) + ((own >>> 1) & 1) + (own >>> 2));
}

export function createDense(highest: number, own: number): Dense {
  const words = wordsFor(highest);
  return {
    member: new Uint32Array(words),
    bit0: own & 1 ? new Uint32Array(words) : zeroPlane(words),
    bit1: own & 2 ? new Uint32Array(words) : zeroPlane(words),
    bit2: own & 4 ? new Uint32Array(words) : zeroPlane(words),
    own,
  };
}

export function coversId(dense: Dense, id: number): boolean {
  return id >>> 5 < dense.member.length;
}

/** Makes room for `highest` and an eighth more, so that appending stays cheap. */
export function growDense(dense: Dense, highest: number): void {
  const grown = createDense(highest + (highest >>> 3), dense.own);
  grown.member.set(dense.member);
  if (dense.own & 1) grown.bit0.set(dense.bit0);
  if (dense.own & 2) grown.bit1.set(dense.bit1);
  if (dense.own & 4) grown.bit2.set(dense.bit2);
  Object.assign(dense, grown);
}

/** `id` must be within the planes. */
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

/** `id` must be within the planes; level 0 removes it. */
export function setDense(dense: Dense, id: number, level: number): void {
  const word = id >>> 5;
  const bit = 1 << (id & 31);
  const code = level === 0 ? 0 : level - 1;
  const missing = code & ~dense.own;
  if (missing & 1) dense.bit0 = new Uint32Array(dense.member.length);
  if (missing & 2) dense.bit1 = new Uint32Array(dense.member.length);
  if (missing & 4) dense.bit2 = new Uint32Array(dense.member.length);
  dense.own |= missing;
  writeBit(dense.member, word, bit, level !== 0);
  if (dense.own & 1) writeBit(dense.bit0, word, bit, (code & 1) !== 0);
  if (dense.own & 2) writeBit(dense.bit1, word, bit, (code & 2) !== 0);
  if (dense.own & 4) writeBit(dense.bit2, word, bit, (code & 4) !== 0);
}

/** Returns a bit for each of a word's 32 ids whose level is at least `level`. */
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

export function denseBelow({ member }: Dense, below: number): number {
  const end = Math.min(below, member.length * 32);
  if (end <= 0) return 0;
  let bits = (member[(end - 1) >>> 5] as number) & (-1 >>> (31 - ((end - 1) & 31)));
  for (let word = (end - 1) >>> 5; ; bits = member[word] as number) {
    if (bits !== 0) return word * 32 + 31 - Math.clz32(bits);
    word -= 1;
    if (word < 0) return 0;
  }
}
