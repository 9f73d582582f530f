import { END_OF_FIELD, FIRST_WORD } from './tokens.ts';
import type { WordTable } from './word-table.ts';

/** Weights of a word by field: title, tags, keywords, seller, description, preview. */
export const FIELD_WEIGHTS: readonly number[] = [4, 3, 2, 2, 1, 1];

const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;
/** A constant in place of the true average, so that a word's level depends on its listing alone and a new index equals an updated one. */
const USUAL_LENGTH = 150;
/** Chosen so that one occurrence in the text, seller, tags or title of a usual listing gives different levels. */
const CUTS: readonly number[] = [0.55, 0.85, 1.2, 1.48, 1.66, 1.77];

/** Returns one word's share in the rank of a listing, from 1 to 7: BM25F without the rarity of the word. */
export function termLevel(weightedCount: number, length: number): number {
  const frequency = weightedCount / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / USUAL_LENGTH);
  const part = (frequency * (SATURATION + 1)) / (SATURATION + frequency);
  let level = 1;
  for (const cut of CUTS) {
    if (part >= cut) level += 1;
  }
  return level;
}

/** Returns the weight of a word, which is higher if fewer listings have it. It is an integer, so that sums are exact. */
export function rarityWeight(listings: number, having: number): number {
  return Math.max(1, Math.round(16 * Math.log(1 + (listings - having + 0.5) / (having + 0.5))));
}

/** Counts the distinct words and stems of one listing at a time. The stamp marks the current entries, so old ones need not be cleared. */
export interface TermCounter {
  stamp: number;
  wordCount: number;
  words: Uint32Array;
  stemCount: number;
  stems: Uint32Array;
  wordStamps: Uint32Array;
  /** Two adjacent entries per stem number: the stamp, and the weighted count, which is finally replaced by the level. */
  byStem: Uint32Array;
}

export function createTermCounter(): TermCounter {
  return {
    stamp: 0,
    wordCount: 0,
    words: new Uint32Array(0),
    stemCount: 0,
    stems: new Uint32Array(0),
    wordStamps: new Uint32Array(0),
    byStem: new Uint32Array(0),
  };
}

export function hasWord(counter: TermCounter, word: number): boolean {
  return counter.wordStamps[word] === counter.stamp;
}

/** Returns the level of a stem in the listing counted last, or 0 if the listing lacks it. */
export function countedLevel(counter: TermCounter, stem: number): number {
  return counter.byStem[stem * 2] === counter.stamp ? (counter.byStem[stem * 2 + 1] as number) : 0;
}

export function countTokens(counter: TermCounter, table: WordTable, tokens: Uint32Array, count: number): void {
  prepareCounter(counter, table, count);
  const { stamp, wordStamps, byStem, words, stems } = counter;
  const stemOf = table.stems;
  let wordCount = 0;
  let stemCount = 0;
  let length = 0;
  let field = 0;
  let weight = FIELD_WEIGHTS[0] as number;
  for (let index = 0; index < count; index += 1) {
    const token = tokens[index] as number;
    if (token < FIRST_WORD) {
      if (token === END_OF_FIELD) {
        field += 1;
        weight = FIELD_WEIGHTS[field] ?? 0;
      }
      continue;
    }
    length += 1;
    if (wordStamps[token] !== stamp) {
      wordStamps[token] = stamp;
      words[wordCount] = token;
      wordCount += 1;
    }
    const slot = (stemOf[token] as number) * 2;
    if (byStem[slot] !== stamp) {
      byStem[slot] = stamp;
      byStem[slot + 1] = weight;
      stems[stemCount] = slot >>> 1;
      stemCount += 1;
    } else byStem[slot + 1] = (byStem[slot + 1] as number) + weight;
  }
  counter.wordCount = wordCount;
  counter.stemCount = stemCount;
  for (let index = 0; index < stemCount; index += 1) {
    const slot = (stems[index] as number) * 2 + 1;
    byStem[slot] = termLevel(byStem[slot] as number, length);
  }
}

function prepareCounter(counter: TermCounter, table: WordTable, count: number): void {
  const capacity = table.listings.length;
  // There are never more stems than words, so one capacity serves both.
  if (counter.wordStamps.length < capacity || counter.stamp === 0xffffffff) {
    counter.stamp = 0;
    counter.wordStamps = new Uint32Array(capacity);
    counter.byStem = new Uint32Array(capacity * 2);
  }
  if (counter.words.length < count) {
    counter.words = new Uint32Array(count * 2);
    counter.stems = new Uint32Array(count * 2);
  }
  counter.stamp += 1;
  counter.wordCount = 0;
  counter.stemCount = 0;
}
