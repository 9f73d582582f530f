import { END_OF_FIELD, FIRST_WORD } from './tokens.ts';
import type { WordTable } from './word-table.ts';

/** Weights of a word by field: title, tags, keywords, seller, description, preview. Tuned with `npm run bench:search`. */
export const FIELD_WEIGHTS: readonly number[] = [4, 3, 2, 1, 3, 1];
const TAGS = 1;
const KEYWORDS = 2;

const SATURATION = 1.2;
const LENGTH_SHARE = 0.6;
/** A constant in place of the true average, so that a word's level depends on its listing alone and a new index equals an updated one. */
const USUAL_LENGTH = 300;
/** Parts of a score at which the next level begins. */
const CUTS: readonly number[] = [0.75, 1, 1.3, 1.5, 1.7, 1.9];
/** About ten times the mean part of a level, by level; level 0 is for listings without the word. */
export const LEVEL_GAINS: readonly number[] = [0, 6, 9, 11, 14, 16, 18, 20];

/** Returns one word's share in the rank of a listing as a level from 1 to 7: BM25F without the rarity of the word. */
export function termLevel(weightedCount: number, length: number): number {
  const frequency = weightedCount / (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / USUAL_LENGTH);
  const part = (frequency * (SATURATION + 1)) / (SATURATION + frequency);
  let level = 1;
  for (const cut of CUTS) {
    if (part >= cut) level += 1;
  }
  return level;
}

const WEIGHT_UNITS = 24;
/** Below 1, it keeps one very rare word from outweighing several others. */
const RARITY_POWER = 0.75;

/** Returns the weight of a word, which is higher if fewer listings have it. It is an integer, so that sums are exact. */
export function rarityWeight(listings: number, having: number): number {
  const rarity = Math.log(1 + (listings - having + 0.5) / (having + 0.5));
  return Math.max(1, Math.round(WEIGHT_UNITS * rarity ** RARITY_POWER));
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
  /** The last field, by stem number, in which a stem was counted once. */
  onceIn: Uint8Array;
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
    onceIn: new Uint8Array(0),
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
  const { stamp, wordStamps, byStem, onceIn, words, stems } = counter;
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
      onceIn[slot >>> 1] = field;
      continue;
    }
    // In tags and keywords a word counts once, so that repeating it there gains nothing.
    const isOnce = field === TAGS || field === KEYWORDS;
    if (isOnce && onceIn[slot >>> 1] === field) continue;
    if (isOnce) onceIn[slot >>> 1] = field;
    byStem[slot + 1] = (byStem[slot + 1] as number) + weight;
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
    counter.onceIn = new Uint8Array(capacity);
  }
  if (counter.words.length < count) {
    counter.words = new Uint32Array(count * 2);
    counter.stems = new Uint32Array(count * 2);
  }
  counter.stamp += 1;
  counter.wordCount = 0;
  counter.stemCount = 0;
}
