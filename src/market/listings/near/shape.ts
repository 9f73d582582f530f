import { withoutLicences } from './licence-texts.ts';
import { mix, shinglesOf } from './shingles.ts';
import { SLOTS, sketchOf } from './sketch.ts';

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
export const BANDS = 12;
export const ROWS = 10;

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
