import type { Answered } from '../../../platform/answer-questions.ts';
import { FIRST_WORD } from './token-codec.ts';
import { addListingText, createTokenList } from './token-list.ts';
import { addChars, createWordChars } from './word-chars.ts';
import { addSlot, createWordSlots, findWord, hashOf } from './word-slots.ts';

/** Listings as JSON, one behind the other; `ends` says where each one ends. An empty one is none. */
export interface TextsToRead {
  bytes: Uint8Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
}

/** The tokens of these listings, with word numbers of the reader's own. */
export interface TextsRead {
  tokens: Uint32Array<ArrayBuffer>;
  ends: Uint32Array<ArrayBuffer>;
  /** Words that no answer before had, in the order of their numbers. */
  newWords: string[];
}

/** Finds the words of listings: more than half of the work of indexing, and it needs nothing that is known elsewhere. */
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
    return { answer: { tokens, ends, newWords }, given: [tokens.buffer, ends.buffer] };
  };
}
