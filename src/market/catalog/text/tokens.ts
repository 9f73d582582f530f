import { withCapacity } from '../byte-runs.ts';
import { createNameFinder, endNames, mayBeNameWord, type NameFinder, readNameWord } from './name-finder.ts';
import { createCodeBuffer, readWords, type VariantSink, type WordSink, writeCodes } from './tokenize.ts';

/** A listing's text is a sequence of word ids, with marks after fields and tags. Frequent words get small ids, which take fewer bytes. */
export const END_OF_FIELD = 0;
const BREAK = 1;
export const FIRST_WORD = 2;

const TWO_BYTES = 160;
const THREE_BYTES = 248;
const FIVE_BYTES = 255;
const FROM_TWO = TWO_BYTES;
const FROM_THREE = FROM_TWO + (THREE_BYTES - TWO_BYTES) * 256;
const FROM_FIVE = FROM_THREE + (FIVE_BYTES - THREE_BYTES) * 65_536;

export const MOST_BYTES = 5;

/** Returns the number of bytes written; `into` must have room for MOST_BYTES per token. */
export function encodeTokens(tokens: Uint32Array, count: number, into: Uint8Array): number {
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const token = tokens[index] as number;
    if (token < FROM_TWO) {
      into[at] = token;
      at += 1;
    } else if (token < FROM_THREE) {
      const rest = token - FROM_TWO;
      into[at] = TWO_BYTES + (rest >>> 8);
      into[at + 1] = rest;
      at += 2;
    } else if (token < FROM_FIVE) {
      const rest = token - FROM_THREE;
      into[at] = THREE_BYTES + (rest >>> 16);
      into[at + 1] = rest >>> 8;
      into[at + 2] = rest;
      at += 3;
    } else {
      into[at] = FIVE_BYTES;
      into[at + 1] = token >>> 24;
      into[at + 2] = token >>> 16;
      into[at + 3] = token >>> 8;
      into[at + 4] = token;
      at += 5;
    }
  }
  return at;
}

/** Returns the number of tokens; `into` must have room for one per byte. */
export function decodeTokens(bytes: Uint8Array, start: number, length: number, into: Uint32Array): number {
  let count = 0;
  let at = start;
  const end = start + length;
  while (at < end) {
    const first = bytes[at] as number;
    if (first < TWO_BYTES) {
      into[count] = first;
      at += 1;
    } else if (first < THREE_BYTES) {
      into[count] = FROM_TWO + ((first - TWO_BYTES) << 8) + (bytes[at + 1] as number);
      at += 2;
    } else if (first < FIVE_BYTES) {
      const rest = ((bytes[at + 1] as number) << 8) + (bytes[at + 2] as number);
      into[count] = FROM_THREE + ((first - THREE_BYTES) << 16) + rest;
      at += 3;
    } else {
      const high = ((bytes[at + 1] as number) << 8) + (bytes[at + 2] as number);
      into[count] = high * 65_536 + ((bytes[at + 3] as number) << 8) + (bytes[at + 4] as number);
      at += 5;
    }
    count += 1;
  }
  return count;
}

/** Returns whether `needle` occurs where a token begins. No token is a prefix of another. Marks keep phrases within one field or tag. */
export function hasSequence(bytes: Uint8Array, start: number, length: number, needle: Uint8Array): boolean {
  const last = start + length - needle.length;
  const wanted = needle[0];
  let at = start;
  while (at <= last) {
    const first = bytes[at] as number;
    if (first === wanted && matchesAt(bytes, at, needle)) return true;
    at += first < TWO_BYTES ? 1 : first < THREE_BYTES ? 2 : first < FIVE_BYTES ? 3 : 5;
  }
  return false;
}

function matchesAt(bytes: Uint8Array, at: number, needle: Uint8Array): boolean {
  for (let index = 1; index < needle.length; index += 1) {
    if (bytes[at + index] !== needle[index]) return false;
  }
  return true;
}

/** The public text of a listing. Nothing else is ever indexed. */
export interface ListingText {
  title: string;
  tags: readonly string[];
  keywords: readonly string[];
  merchant: string;
  description: string;
  preview: string;
}

type WordNumbers = (codes: Uint16Array, start: number, end: number) => number;

export interface TokenList {
  tokens: Uint32Array;
  count: number;
  readonly numberOf: WordNumbers;
  readonly sink: WordSink;
  readonly variantSink: VariantSink;
  readonly names: NameFinder;
  /** Short forms of names and other spellings of words in the current text. */
  readonly variants: string[];
}

export function createTokenList(numberOf: WordNumbers): TokenList {
  const names = createNameFinder();
  const variants: string[] = [];
  const list: TokenList = {
    tokens: new Uint32Array(4096),
    count: 0,
    numberOf,
    names,
    variants,
    sink: (codes, start, end) => {
      addToken(list, numberOf(codes, start, end));
      if (!mayBeNameWord(names, codes[start] as number, end - start)) return;
      for (const { short } of readNameWord(names, String.fromCharCode(...codes.subarray(start, end))))
        variants.push(short);
    },
    variantSink: (word) => variants.push(word),
  };
  return list;
}

/** The weights of a word by field stand in `FIELD_WEIGHTS`, in this order. */
export function addListingText(list: TokenList, text: ListingText): void {
  addWords(list, text.title, END_OF_FIELD);
  for (const tag of text.tags) addWords(list, tag, BREAK);
  addToken(list, END_OF_FIELD);
  for (const keyword of text.keywords) addWords(list, keyword, BREAK);
  addToken(list, END_OF_FIELD);
  addWords(list, text.merchant, END_OF_FIELD);
  addWords(list, text.description, END_OF_FIELD);
  addWords(list, text.preview, END_OF_FIELD);
}

const variantCodes = createCodeBuffer();

function addWords(list: TokenList, text: string, mark: number): void {
  readWords(text, list.sink, list.variantSink);
  endNames(list.names);
  if (list.variants.length > 0) addVariants(list);
  addToken(list, mark);
}

/** Adds variants, each behind a mark, so that they are found in this field but change no phrase. */
function addVariants(list: TokenList): void {
  for (const word of new Set(list.variants)) {
    addToken(list, BREAK);
    addToken(list, list.numberOf(writeCodes(variantCodes, word), 0, word.length));
  }
  list.variants.length = 0;
}

export function addToken(list: TokenList, token: number): void {
  if (list.count === list.tokens.length) list.tokens = withCapacity(list.tokens, list.count);
  list.tokens[list.count] = token;
  list.count += 1;
}
