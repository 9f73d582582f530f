import { mix } from './shingles.ts';

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
