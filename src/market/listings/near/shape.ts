import { readFileSync } from 'node:fs';
import { mix, shinglesOf } from './shingles.ts';

/** Values in a sketch. */
export const SLOTS = 512;

/** Turns each number of a round into another stream of chance. */
const ROUND_STEP = 0x9e3779b9;
const ROUND_START = 0x6a09e667;
const VALUE_TURN = 0x3c6ef372;

/**
 * After so many draws by chance no slot is empty any more. A text can be written so that all of its shingles pass one slot by, round
 * after round; it is not to keep everybody waiting for a thousand rounds.
 */
const MOST_DRAWS = 131_072;

/**
 * The sketch of a set: two sets have the same value in a slot with a chance that is their Jaccard likeness. This is MinHash as
 * "Fast Similarity Sketching" (Dahlgaard, Knudsen, Thorup, 2017) makes it: in a round each member falls into one slot, and the least
 * value stays there; slots that are empty still are filled in further rounds, in the end one by one. It estimates as well as 512
 * permutations of all members do, for a long text in one pass instead of 512. Each member once, in order, and at least one.
 */
export function sketchOf(members: Uint32Array): Uint32Array {
  const values = new Uint32Array(SLOTS);
  const filledIn = new Int32Array(SLOTS).fill(-1);
  let empty = SLOTS;
  for (let round = 0; empty > 0; round += 1) {
    if (round * members.length > MOST_DRAWS) {
      fillAtOnce(values, filledIn, members[0] ?? 0);
      break;
    }
    const turn = mix(ROUND_START + Math.imul(round, ROUND_STEP));
    for (let at = 0; at < members.length; at += 1) {
      const drawn = mix((members[at] ?? 0) ^ turn);
      const slot = round < SLOTS ? drawn % SLOTS : round - SLOTS;
      const value = mix(drawn ^ VALUE_TURN);
      if (filledIn[slot] === -1) {
        filledIn[slot] = round;
        empty -= 1;
      } else if (filledIn[slot] !== round || value >= (values[slot] ?? 0)) continue;
      values[slot] = value;
    }
  }
  return values;
}

/** By the least member alone, which two sets have in common by the same chance. It need not be a good estimate. */
function fillAtOnce(values: Uint32Array, filledIn: Int32Array, least: number): void {
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (filledIn[slot] === -1) values[slot] = mix(least ^ mix(slot));
  }
}

/** Written by `npm run licences`: hashes of the runs of words in common licences. */
const COMMON = read(readFileSync(new URL('./licence-texts.bin', import.meta.url)));

function read(bytes: Buffer): Set<number> {
  const hashes = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) hashes.add(bytes.readUInt32LE(at));
  return hashes;
}

/** What is left of a text's runs of words without those of common licences: these are no one's own work. */
function withoutLicences(shingles: Uint32Array): Uint32Array {
  return shingles.filter((hash) => !COMMON.has(hash));
}

/** What is kept of an artifact so that like ones are found: it cannot be turned back into words. */
export interface Shape {
  /** One number for each band: two artifacts with one in common are looked at. */
  bands: number[];
  /** One bit of each value of the sketch, as PostgreSQL writes bits. */
  signature: string;
}

/** Shorter ones may be alike by chance (W6). Blank space counts once: a few hidden words must not be guessed by way of what pads them. */
export const LEAST_CHARACTERS = 200;

/** By what is counted: the second rule leaves out what stands in common licences. Shapes of different rules are no measure of each other. */
export const RULE = 2;

/** Where a licence was left out: what remains is as short as 200 characters, and may be alike by chance. */
const LEAST_OWN_SHINGLES = 40;

/**
 * Of artifacts that are alike to 0.9 these bands miss six in a thousand, of such that are alike to 0.95 two in a hundred thousand. They
 * offer three in ten of those at 0.7, as goods made from one form are, and one in a hundred at 0.5. Shorter rows would offer more of
 * these, each of which has to be read.
 */
const BANDS = 12;
const ROWS = 10;

/** Bits in which two signatures may differ: at a likeness of 0.9 the half of a tenth does. */
export const MOST_DIFFERENT_BITS = 25;

const SPACES = /\s+/gu;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Null where the near guard has nothing to say: for short goods, also where only a licence makes them long, and for bytes that are no UTF-8. In which encoding they came is all
 * the same, or base64 would be the way round it.
 */
export function shapeOf(content: Uint8Array): Shape | null {
  if (content.length < LEAST_CHARACTERS) return null;
  const text = textOf(content);
  if (text === null || !hasCharacters(text.replace(SPACES, ' '), LEAST_CHARACTERS)) return null;
  const shingles = shinglesOf(text);
  const own = withoutLicences(shingles);
  if (own.length === 0 || (own.length < shingles.length && own.length < LEAST_OWN_SHINGLES)) return null;
  const sketch = sketchOf(own);
  let signature = '';
  for (let slot = 0; slot < SLOTS; slot += 1) signature += (sketch[slot] ?? 0) & 1;
  return { bands: Array.from({ length: BANDS }, (_, band) => keyOf(sketch, band)), signature };
}

/** How alike two artifacts are, as far as their signatures tell: 1 for the same, about 0 for such that have nothing in common. */
export function likenessOf(one: Shape, other: Shape): number {
  let different = 0;
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (one.signature[slot] !== other.signature[slot]) different += 1;
  }
  return 1 - (2 * different) / SLOTS;
}

function textOf(content: Uint8Array): string | null {
  try {
    return decoder.decode(content);
  } catch {
    return null;
  }
}

/** Counted as W6 counts them: a character outside the first plane is one. */
function hasCharacters(text: string, least: number): boolean {
  if (text.length >= 2 * least) return true;
  return [...text].length >= least;
}

/** As PostgreSQL's int4. The number of the band is in it: a row of one band is nothing to another. */
function keyOf(sketch: Uint32Array, band: number): number {
  let key = mix(band + 1);
  for (let row = band * ROWS; row < (band + 1) * ROWS; row += 1) {
    key = mix((Math.imul(key, 0x9e3779b1) + (sketch[row] ?? 0)) | 0);
  }
  return key | 0;
}
