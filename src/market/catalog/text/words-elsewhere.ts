import { grown } from '../grown.ts';
import { createCodeBuffer, writeCodes } from './code-buffer.ts';
import { FIRST_WORD } from './token-codec.ts';
import { addToken, type TokenList } from './token-list.ts';
import { internWord, type WordTable } from './word-table.ts';

/** What another reader's word numbers mean here. */
export interface WordsElsewhere {
  readonly texts: string[];
  /** By number there: the number here, or 0 where it is not known yet. */
  numbers: Uint32Array;
  /** How many words had left the table when these numbers were found. */
  removals: number;
}

export function createWordsElsewhere(): WordsElsewhere {
  return { texts: new Array(FIRST_WORD).fill(''), numbers: new Uint32Array(1_024), removals: 0 };
}

export function learnWords(elsewhere: WordsElsewhere, words: readonly string[]): void {
  for (const word of words) elsewhere.texts.push(word);
  if (elsewhere.texts.length > elsewhere.numbers.length)
    elsewhere.numbers = grown(elsewhere.numbers, elsewhere.texts.length);
}

/** Adds the tokens with the numbers that their words have here. The caller has to count a listing for each of them. */
export function addTranslated(
  list: TokenList,
  table: WordTable,
  elsewhere: WordsElsewhere,
  read: { tokens: Uint32Array; from: number; to: number },
): void {
  // The number of a removed word may belong to another word by now. Removals are rare, so all words are looked up again.
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

const asked = createCodeBuffer();

function lookUp(table: WordTable, elsewhere: WordsElsewhere, token: number): number {
  const word = elsewhere.texts[token] ?? '';
  const id = internWord(table, writeCodes(asked, word), 0, word.length);
  elsewhere.numbers[token] = id;
  return id;
}
