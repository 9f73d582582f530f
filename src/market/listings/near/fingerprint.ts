import { readFileSync } from 'node:fs';
import { mixBits, shinglesOf } from './shingles.ts';

export const SLOTS = 512;

/** Turns each round number into a different random stream. */
const ROUND_STEP = 0x9e3779b9;
const ROUND_START = 0x6a09e667;
const VALUE_TURN = 0x3c6ef372;

/** Only a text crafted to miss a slot in every round needs more draws. It must not delay everyone for a thousand rounds. */
const MAX_DRAWS = 131_072;

/**
 * Computes the sketch of a set. Two sets agree in a slot with a probability equal to their Jaccard similarity. This is "Fast Similarity
 * Sketching" (Dahlgaard, Knudsen, Thorup, 2017): in each round every member falls into one slot, where the smallest value stays; empty
 * slots are filled in further rounds, and finally one by one. It estimates as well as 512 permutations of all members, but in one pass over
 * a long text instead of 512. Pass at least one member, each once, in ascending order.
 */
export function sketchOf(members: Uint32Array): Uint32Array {
  const values = new Uint32Array(SLOTS);
  const filledIn = new Int32Array(SLOTS).fill(-1);
  let empty = SLOTS;
  for (let round = 0; empty > 0; round += 1) {
    if (round * members.length > MAX_DRAWS) {
      fillAtOnce(values, filledIn, members[0] ?? 0);
      break;
    }
    const turn = mixBits(ROUND_START + Math.imul(round, ROUND_STEP));
    for (let at = 0; at < members.length; at += 1) {
      const drawn = mixBits((members[at] ?? 0) ^ turn);
      const slot = round < SLOTS ? drawn % SLOTS : round - SLOTS;
      const value = mixBits(drawn ^ VALUE_TURN);
      if (filledIn[slot] === -1) {
        filledIn[slot] = round;
        empty -= 1;
      } else if (filledIn[slot] !== round || value >= (values[slot] ?? 0)) continue;
      values[slot] = value;
    }
  }
  return values;
}

/**
 * Fills all empty slots from the smallest member alone. The probability that two sets have the same smallest member is their Jaccard
 * similarity. All these slots then agree or differ together, so the estimate is rough, which is enough for such crafted texts.
 */
function fillAtOnce(values: Uint32Array, filledIn: Int32Array, least: number): void {
  for (let slot = 0; slot < SLOTS; slot += 1) {
    if (filledIn[slot] === -1) values[slot] = mixBits(least ^ mixBits(slot));
  }
}

/** Hashes of word sequences in common licences, written by `npm run licences`. */
const COMMON = readHashes(readFileSync(new URL('./licence-texts.bin', import.meta.url)));

function readHashes(bytes: Buffer): Set<number> {
  const hashes = new Set<number>();
  for (let at = 0; at < bytes.length; at += 4) hashes.add(bytes.readUInt32LE(at));
  return hashes;
}

function withoutLicences(shingles: Uint32Array): Uint32Array {
  return shingles.filter((hash) => !COMMON.has(hash));
}

/** Data that finds similar artifacts. Their words cannot be recovered from it. */
export interface Fingerprint {
  /** One number for each band. Only artifacts that share at least one number are compared. */
  bands: number[];
  /** One bit for each value of the sketch, as a PostgreSQL bit string. */
  signature: string;
}

/** Shorter texts may be similar by chance. A run of blanks counts once, so that padding cannot make a few hidden words guessable. */
export const MIN_CHARACTERS = 200;

/** Version of the fingerprint rule. Version 2 leaves out common licences. Fingerprints of different versions cannot be compared. */
export const RULE = 2;

/** Minimum number of shingles that must remain without licence text. Fewer may be similar by chance, like texts below 200 characters. */
const MIN_OWN_SHINGLES = 40;

/**
 * These bands miss 6 in 1,000 pairs with a similarity of 0.9, and 2 in 100,000 with 0.95. They select 3 in 10 pairs at 0.7, which goods
 * made from one template reach, and 1 in 100 at 0.5. Fewer rows per band would select more of the less similar pairs, and each selected
 * pair must be read.
 */
const BANDS = 12;
const ROWS = 10;

/** Maximum number of differing signature bits. At a similarity of 0.9, one bit in twenty differs. */
export const MAX_DIFFERENT_BITS = 25;

const SPACES = /\s+/gu;
const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns null if the near guard does not apply: to short goods, to goods that are long only because of a licence, and to bytes that are
 * not UTF-8. The encoding in the request does not matter, otherwise base64 would bypass the guard.
 */
export function fingerprintOf(content: Uint8Array): Fingerprint | null {
  if (content.length < MIN_CHARACTERS) return null;
  const text = textOf(content);
  if (text === null || !hasCharacters(text.replace(SPACES, ' '), MIN_CHARACTERS)) return null;
  const shingles = shinglesOf(text);
  const own = withoutLicences(shingles);
  if (own.length === 0 || (own.length < shingles.length && own.length < MIN_OWN_SHINGLES)) return null;
  const sketch = sketchOf(own);
  let signature = '';
  for (let slot = 0; slot < SLOTS; slot += 1) signature += (sketch[slot] ?? 0) & 1;
  return { bands: Array.from({ length: BANDS }, (_, band) => keyOf(sketch, band)), signature };
}

/** Estimates the similarity of two artifacts from their signatures: 1 if equal, about 0 if they have nothing in common. */
export function estimateSimilarity(one: Fingerprint, other: Fingerprint): number {
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

/** Counts a surrogate pair as one character. */
function hasCharacters(text: string, least: number): boolean {
  if (text.length >= 2 * least) return true;
  return [...text].length >= least;
}

/** Returns a PostgreSQL int4. Includes the band's number, so that equal rows of different bands do not match. */
function keyOf(sketch: Uint32Array, band: number): number {
  let key = mixBits(band + 1);
  for (let row = band * ROWS; row < (band + 1) * ROWS; row += 1) {
    key = mixBits((Math.imul(key, 0x9e3779b1) + (sketch[row] ?? 0)) | 0);
  }
  return key | 0;
}
