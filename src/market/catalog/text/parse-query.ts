import { createNameFinder, endNames, readNameWord } from './name-finder.ts';
import { isPair, readWords, tokenize } from './tokenize.ts';
import { SHORTEST_BEGINNING } from './word-table.ts';

/**
 * A `word` matches in any form, a `beginning` also any word that starts with it, and a `phrase` exactly these words in a row in one field.
 */
export interface QueryTerm {
  readonly kind: 'word' | 'beginning' | 'phrase';
  readonly words: readonly string[];
  /** `wanted` terms rank, `required` ones must be there, and `excluded` ones must not. */
  readonly need: 'wanted' | 'required' | 'excluded';
}

/** Another spelling of neighboring words, such as `frontend` for `front end`. A listing with it has these words. */
export interface QueryVariant {
  readonly word: string;
  readonly words: readonly string[];
}

export interface ParsedQuery {
  /** Equal for queries that differ only in case, accents, punctuation, order or repetition. */
  readonly key: string;
  /** In typed order, without repetitions. A run of characters in a script without spaces is one phrase that is not quoted. */
  readonly terms: readonly QueryTerm[];
  readonly variants: readonly QueryVariant[];
  /** All distinct words that are wanted or required, for the comparison with titles. */
  readonly typed: ReadonlySet<string>;
}

const BLANK = /\s/;
/** The quotation marks that keyboards and word processors insert for a plain one. */
const QUOTES = /[\u201c-\u201f\u00ab\u00bb\uff02]/g;
/** More words than a need has. It bounds the work of a query and the length of a cursor. */
export const MAX_WORDS = 32;
/** A need has one or two. */
const MAX_VARIANTS = 16;
const NEEDS: Readonly<Record<string, QueryTerm['need']>> = { '-': 'excluded', '+': 'required' };

interface Parsing {
  readonly terms: Map<string, QueryTerm>;
  readonly variants: Map<string, QueryVariant>;
  readonly typed: string[];
  readonly names: ReturnType<typeof createNameFinder>;
}

/** Parses what a person or program typed. No query is invalid: meaningless parts are skipped. */
export function parseQuery(q: string): ParsedQuery {
  const text = q.replace(QUOTES, '"');
  const parsing: Parsing = { terms: new Map(), variants: new Map(), typed: [], names: createNameFinder() };
  for (let at = 0; at < text.length; ) at = BLANK.test(text.charAt(at)) ? at + 1 : readPart(parsing, text, at);
  const { typed } = parsing;
  const terms = [...parsing.terms.values()];
  const variants = [...parsing.variants.values()].slice(0, MAX_VARIANTS);
  const names = [...parsing.terms.keys(), ...variants.map(({ word, words }) => `${words.join(' ')}=${word}`)];
  const words = terms.reduce((sum, term) => sum + term.words.length, 0);
  const isLong = words > MAX_WORDS || parsing.variants.size > MAX_VARIANTS;
  return {
    // The order decides which words of a long query are left out.
    key: (isLong ? names : names.sort()).join(' '),
    terms,
    variants,
    typed: new Set(typed),
  };
}

/** Reads a phrase or the characters up to the next blank or quotation mark. Returns where it ends. */
function readPart(parsing: Parsing, text: string, from: number): number {
  const sign = from === 0 || BLANK.test(text.charAt(from - 1)) ? text.charAt(from) : '';
  const isDoubled = text.charAt(from + 1) === sign;
  // Two dashes begin an option of a command, not an exclusion.
  const need = isDoubled ? 'wanted' : (NEEDS[sign] ?? 'wanted');
  const start = need === 'wanted' ? from : from + 1;
  if (text.charAt(start) === '"') {
    const close = text.indexOf('"', start + 1);
    const end = close < 0 ? text.length : close;
    addPhrase(parsing, text.slice(start + 1, end), need === 'excluded' ? need : 'required');
    return end + 1;
  }
  const end = endOfChunk(text, start);
  const chunk = text.slice(start, end);
  if (need === 'excluded') addExcluded(parsing, chunk);
  else addWords(parsing, chunk, { need, isLast: end === text.length });
  return end;
}

function endOfChunk(text: string, start: number): number {
  let end = start;
  while (end < text.length && text.charAt(end) !== '"' && !BLANK.test(text.charAt(end))) end += 1;
  return end;
}

const SIGNS: Readonly<Record<QueryTerm['need'], string>> = { wanted: '', required: '+', excluded: '-' };

function addTerm({ terms }: Parsing, term: QueryTerm): void {
  const words = term.words.join(' ');
  const text = term.kind === 'phrase' ? `"${words}"` : `${words}${term.kind === 'beginning' ? '*' : ''}`;
  const key = SIGNS[term.need] + text;
  if (!terms.has(key)) terms.set(key, term);
}

function addPhrase(parsing: Parsing, text: string, need: QueryTerm['need']): void {
  const tokens = tokenize(text);
  const words = withoutLastCharacter(tokens);
  endNames(parsing.names);
  if (words.length === 0) return;
  if (need !== 'excluded') parsing.typed.push(...tokens);
  addTerm(parsing, { kind: 'phrase', words, need });
}

/** `-e-mail` excludes listings with both words in a row, not every listing that has an e. */
function addExcluded(parsing: Parsing, chunk: string): void {
  const words = withoutLastCharacter(tokenize(chunk));
  if (words.length === 1) addTerm(parsing, wordTerm(words[0] ?? '', 'excluded'));
  else addPhrase(parsing, chunk, 'excluded');
}

/** A character that stands alone is the beginning of a pair in most texts. */
function wordTerm(word: string, need: QueryTerm['need']): QueryTerm {
  return { kind: isPair(word) && !hasTwo(word) ? 'beginning' : 'word', words: [word], need };
}

const hasTwo = (word: string): boolean => [...word].length > 1;

/** Removes the last character of a run, which texts have only where the run ends. */
function withoutLastCharacter(words: readonly string[]): readonly string[] {
  const [before = '', last = ''] = words.slice(-2);
  return words.length > 1 && isPair(last) && !hasTwo(last) && isPair(before) && hasTwo(before)
    ? words.slice(0, -1)
    : words;
}

function addWords(
  parsing: Parsing,
  chunk: string,
  { need, isLast }: { need: QueryTerm['need']; isLast: boolean },
): void {
  const words = readChunk(parsing, chunk);
  const isOpen = isLast && words.length > 0 && tokenize(`${chunk}x`).length === words.length;
  let at = 0;
  while (at < words.length) {
    const word = words[at] ?? '';
    let end = at + 1;
    // A run of pairs ends with its last character.
    if (isPair(word)) while (end < words.length && hasTwo(words[end - 1] ?? '')) end += 1;
    const run = withoutLastCharacter(words.slice(at, end));
    if (run.length > 1) addTerm(parsing, { kind: 'phrase', words: run, need });
    else if (isOpen && end === words.length && word.length >= SHORTEST_BEGINNING) {
      addTerm(parsing, { kind: 'beginning', words: run, need });
    } else addTerm(parsing, wordTerm(word, need));
    at = end;
  }
}

/** Returns the words of a chunk, and notes them and their other spellings. */
function readChunk({ typed, variants, names }: Parsing, chunk: string): string[] {
  const words: string[] = [];
  readWords(
    chunk,
    (codes, start, end) => {
      const word = String.fromCharCode(...codes.subarray(start, end));
      words.push(word);
      typed.push(word);
      for (const name of readNameWord(names, word))
        variants.set(name.short, { word: name.short, words: typed.slice(-name.words) });
    },
    (word) => variants.set(word, { word, words: typed.slice(-1) }),
  );
  return words;
}
