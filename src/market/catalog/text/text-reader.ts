import type { Answered } from '../../../platform/worker-thread.ts';
import { withCapacity } from '../byte-runs.ts';
import { createCodeBuffer, writeCodes } from './tokenize.ts';
import { addListingText, addToken, createTokenList, FIRST_WORD, type TokenList } from './tokens.ts';
import { addChars, addSlot, createWordChars, createWordSlots, findWord, hashOf } from './word-lookup.ts';
import { internWord, type WordTable } from './word-table.ts';

/** Listings as JSON, concatenated; `ends` holds where each one ends. An empty one is skipped. */
export interface TextsToRead {
  bytes: Uint8Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
}

/** The tokens of these listings, in the reader's own word numbers. */
export interface TextsRead {
  tokens: Uint32Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
  /** Words that are in no earlier answer, in the order of their numbers. */
  newWords: string[];
}

/** Finds the words of listings: more than half of the work of indexing, and independent of the index. */
export function createTextReader(): (texts: TextsToRead) => Answered<TextsRead> {
  const slots = createWordSlots();
  const chars = createWordChars();
  let newWords: string[] = [];
  let words = FIRST_WORD;
  const list = createTokenList((codes, start, end) => {
    const hash = hashOf(codes, start, end);
    const known = findWord(slots, chars, hash, codes, start, end);
    if (known !== 0) return known;
    addSlot(slots, words, hash);
    addChars(chars, words, codes, start, end);
    newWords.push(String.fromCharCode(...codes.subarray(start, end)));
    words += 1;
    return words - 1;
  });
  return ({ bytes, ends }) => {
    list.count = 0;
    newWords = [];
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let from = 0;
    for (let at = 0; at < ends.length; at += 1) {
      const end = ends[at] as number;
      if (end > from) addListingText(list, JSON.parse(all.toString('utf8', from, end)));
      ends[at] = list.count;
      from = end;
    }
    const tokens = list.tokens.slice(0, list.count);
    return { answer: { tokens, ends, newWords }, transfer: [tokens.buffer, ends.buffer] };
  };
}

/** Translates another reader's word numbers to ours. */
export interface WordsElsewhere {
  readonly texts: string[];
  /** By their number: our number, or 0 while unknown. */
  numbers: Uint32Array;
  /** The word table's count of removals when these numbers were looked up. */
  removals: number;
}

export function createWordsElsewhere(): WordsElsewhere {
  return { texts: new Array(FIRST_WORD).fill(''), numbers: new Uint32Array(1_024), removals: 0 };
}

export function learnWords(elsewhere: WordsElsewhere, words: readonly string[]): void {
  for (const word of words) elsewhere.texts.push(word);
  if (elsewhere.texts.length > elsewhere.numbers.length)
    elsewhere.numbers = withCapacity(elsewhere.numbers, elsewhere.texts.length);
}

/** Adds the tokens with our word numbers. The caller must count a listing for each word. */
export function addTranslated(
  list: TokenList,
  table: WordTable,
  elsewhere: WordsElsewhere,
  read: { tokens: Uint32Array; from: number; to: number },
): void {
  // A removed word's number may belong to another word by now. Removals are rare, so look up all words again.
  if (elsewhere.removals !== table.removals) {
    elsewhere.numbers.fill(0);
    elsewhere.removals = table.removals;
  }
  const { numbers } = elsewhere;
  for (let at = read.from; at < read.to; at += 1) {
    const token = read.tokens[at] as number;
    if (token < FIRST_WORD) addToken(list, token);
    else addToken(list, (numbers[token] as number) || lookUp(table, elsewhere, token));
  }
}

const lookupBuffer = createCodeBuffer();

function lookUp(table: WordTable, elsewhere: WordsElsewhere, token: number): number {
  const word = elsewhere.texts[token] ?? '';
  const id = internWord(table, writeCodes(lookupBuffer, word), 0, word.length);
  elsewhere.numbers[token] = id;
  return id;
}
