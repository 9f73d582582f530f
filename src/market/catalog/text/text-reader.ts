import type { Answered } from '../../../platform/worker-thread.ts';
import { withCapacity } from '../byte-runs.ts';
import { createCodeBuffer, writeCodes } from './tokenize.ts';
import { addListingText, addToken, createTokenList, FIRST_WORD, type TokenList } from './tokens.ts';
import { addChars, addSlot, createWordChars, createWordSlots, findWord, hashOf } from './word-lookup.ts';
import { internWord, type WordTable } from './word-table.ts';

/** Listings as concatenated JSON. `ends` holds the end of each one; an empty one is skipped. */
export interface TextsToRead {
  bytes: Uint8Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
}

/** Tokens of these listings, with word numbers private to this reader. */
export interface TextsRead {
  tokens: Uint32Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
  /** Words that no earlier answer contained, in the order of their numbers. */
  newWords: string[];
}

/** Tokenizes listings. This is more than half of the indexing work and does not need the index. */
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

/** Translates a reader's word numbers to the word table's. */
export interface ReaderWords {
  readonly texts: string[];
  /** The table's number by the reader's number, or 0 if it was not looked up yet. */
  numbers: Uint32Array;
  /** The word table's count of removals when these numbers were looked up. */
  removals: number;
}

export function createReaderWords(): ReaderWords {
  return { texts: new Array(FIRST_WORD).fill(''), numbers: new Uint32Array(1_024), removals: 0 };
}

export function learnWords(readerWords: ReaderWords, words: readonly string[]): void {
  for (const word of words) readerWords.texts.push(word);
  if (readerWords.texts.length > readerWords.numbers.length)
    readerWords.numbers = withCapacity(readerWords.numbers, readerWords.texts.length);
}

/** Adds the tokens with the table's word numbers. The caller must count a listing for each word. */
export function addTranslated(
  list: TokenList,
  table: WordTable,
  readerWords: ReaderWords,
  read: { tokens: Uint32Array; from: number; to: number },
): void {
  // A removed word's number may belong to another word by now. Removals are rare, so look up all words again.
  if (readerWords.removals !== table.removals) {
    readerWords.numbers.fill(0);
    readerWords.removals = table.removals;
  }
  const { numbers } = readerWords;
  for (let at = read.from; at < read.to; at += 1) {
    const token = read.tokens[at] as number;
    if (token < FIRST_WORD) addToken(list, token);
    else addToken(list, (numbers[token] as number) || lookUpWord(table, readerWords, token));
  }
}

const lookupBuffer = createCodeBuffer();

function lookUpWord(table: WordTable, readerWords: ReaderWords, token: number): number {
  const word = readerWords.texts[token] ?? '';
  const id = internWord(table, writeCodes(lookupBuffer, word), 0, word.length);
  readerWords.numbers[token] = id;
  return id;
}
