import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import { stemOf } from './stem.ts';
import type { Tally } from './tally.ts';
import type { TextState } from './text-state.ts';
import { SHORTEST_BEGINNING } from './word-table.ts';

/**
 * The stems of a text and the beginnings of its words, as 2,048 bits: of what is in it it says so, and of one in six others too when
 * the text has a hundred words.
 */
export const SIGNATURE_WORDS = 64;
const BITS_MASK = SIGNATURE_WORDS * 32 - 1;
const LONGER_BEGINNING = 5;
const STEM_SEED = 0x811c9dc5;
const BEGINNING_SEED = 0x050c5d1f;

/** FNV-1a of its first `length` characters. */
function placeOf(text: string, length: number, seed: number): number {
  let hash = seed;
  for (let at = 0; at < length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 16)) & BITS_MASK;
}

function addPlace(signature: Uint32Array, place: number): void {
  signature[place >>> 5] = (signature[place >>> 5] as number) | (1 << (place & 31));
}

function hasPlace(signatures: Uint32Array, from: number, place: number): boolean {
  return ((signatures[from + (place >>> 5)] as number) & (1 << (place & 31))) !== 0;
}

export function signText(signature: Uint32Array, { stems, words }: TextState, tally: Tally): void {
  for (let index = 0; index < tally.stemCount; index += 1) {
    const stem = stems.texts[tally.stems[index] as number] ?? '';
    addPlace(signature, placeOf(stem, stem.length, STEM_SEED));
  }
  for (let index = 0; index < tally.wordCount; index += 1) {
    const word = words.texts[tally.words[index] as number] ?? '';
    if (word.length < SHORTEST_BEGINNING) continue;
    addPlace(signature, placeOf(word, SHORTEST_BEGINNING, BEGINNING_SEED));
    if (word.length >= LONGER_BEGINNING) addPlace(signature, placeOf(word, LONGER_BEGINNING, BEGINNING_SEED));
  }
}

/** Of each of these places at least one. */
export type Needed = readonly (readonly number[])[];

/** Whether a text may have all that is needed, by the signature that begins at `from`. */
export function mayHave(signatures: Uint32Array, from: number, needed: Needed): boolean {
  return needed.every((places) => places.some((place) => hasPlace(signatures, from, place)));
}

const neededBy = new WeakMap<ParsedQuery, Needed>();

/** What the text of a listing has to have to match. */
export function neededFor(query: ParsedQuery): Needed {
  const known = neededBy.get(query);
  if (known !== undefined) return known;
  const needed = query.terms.filter(({ excluded }) => !excluded).flatMap(neededForTerm);
  neededBy.set(query, needed);
  return needed;
}

/** Who types a word that is not finished means that word too. */
function neededForTerm(term: QueryTerm): number[][] {
  const stems = stemsOfTerm(term).map((stem) => placeOf(stem, stem.length, STEM_SEED));
  if (term.kind !== 'beginning') return stems.map((place) => [place]);
  const [word = ''] = term.words;
  const length = word.length >= LONGER_BEGINNING ? LONGER_BEGINNING : SHORTEST_BEGINNING;
  return [[...stems, placeOf(word, length, BEGINNING_SEED)]];
}

const stemsOf = new WeakMap<QueryTerm, readonly string[]>();

/** Of each of its words. */
export function stemsOfTerm(term: QueryTerm): readonly string[] {
  const known = stemsOf.get(term);
  if (known !== undefined) return known;
  const stems = term.words.map(stemOf);
  stemsOf.set(term, stems);
  return stems;
}
