import { grown } from '../grown.ts';
import { BREAK, END_OF_FIELD } from './token-codec.ts';
import { readWords, type WordSink } from './tokenize.ts';

/** What everybody may read of a listing. Nothing else is ever indexed. */
export interface ListingText {
  title: string;
  tags: readonly string[];
  merchant: string;
  description: string;
  preview: string;
}

/** The tokens of one text after another, in an array that is used again and again. */
export interface TokenList {
  tokens: Uint32Array;
  count: number;
  readonly sink: WordSink;
}

/** `numberOf` gives each word its number. */
export function createTokenList(numberOf: (codes: Uint16Array, start: number, end: number) => number): TokenList {
  const list: TokenList = {
    tokens: new Uint32Array(4096),
    count: 0,
    sink: (codes, start, end) => addToken(list, numberOf(codes, start, end)),
  };
  return list;
}

/** Adds all words of a listing, and the marks between its fields and tags. */
export function addListingText(list: TokenList, text: ListingText): void {
  addWords(list, text.title, END_OF_FIELD);
  for (const tag of text.tags) addWords(list, tag, BREAK);
  addWords(list, '', END_OF_FIELD);
  addWords(list, text.merchant, END_OF_FIELD);
  addWords(list, text.description, END_OF_FIELD);
  addWords(list, text.preview, END_OF_FIELD);
}

function addWords(list: TokenList, text: string, mark: number): void {
  readWords(text, list.sink);
  addToken(list, mark);
}

export function addToken(list: TokenList, token: number): void {
  if (list.count === list.tokens.length) list.tokens = grown(list.tokens, list.count);
  list.tokens[list.count] = token;
  list.count += 1;
}
