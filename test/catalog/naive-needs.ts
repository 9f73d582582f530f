import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { isStopWord } from '../../src/market/catalog/text/stop-words.ts';
import { isPair, tokenize } from '../../src/market/catalog/text/tokenize.ts';
import {
  hasBeginning,
  hasPhrase,
  hasStem,
  type NaiveSpelling,
  type NaiveWords,
  otherSpellings,
} from './naive-words.ts';

/** The words of a need as a person types it. */

type Need = 'wanted' | 'required' | 'excluded';

/** A part of a need as a person types it: a word, or words in quotes. The last one may be incomplete. */
export interface NaivePart {
  need: Need;
  isQuoted: boolean;
  isOpen: boolean;
  text: string;
}

export interface NaiveNeed {
  parts: readonly NaivePart[];
  match: 'any' | 'all';
}

export interface Term {
  kind: 'word' | 'beginning' | 'phrase';
  words: readonly string[];
  need: Need;
  /** The run in a script without spaces that this pair is from. */
  run?: string;
}

export interface SearchedTerm extends Term {
  typed: string;
  usedAs: string | null;
}

export type Test = (text: NaiveWords) => boolean;

export const isSingle = (word: string): boolean => isPair(word) && [...word].length === 1;

/** In a script without spaces, the last character of a run says nothing beyond the pair before it. */
function wordsOfRun(text: string): string[] {
  const words = tokenize(text);
  const [before = '', last = ''] = words.slice(-2);
  return isSingle(last) && isPair(before) && !isSingle(before) ? words.slice(0, -1) : words;
}

export function termsOfPart({ need, isQuoted, isOpen, text }: NaivePart): Term[] {
  const words = wordsOfRun(text);
  if (isQuoted) return [{ kind: 'phrase', words, need: need === 'excluded' ? need : 'required' }];
  if (words.length > 1 && (need === 'excluded' || isPair(words[0] ?? ''))) return [{ kind: 'phrase', words, need }];
  return words.map((word, at) => {
    const isBeginning = isSingle(word) || (isOpen && at === words.length - 1 && need !== 'excluded' && word.length > 2);
    return { kind: isBeginning ? 'beginning' : 'word', words: [word], need };
  });
}

/** Returns the terms in typed order. A word that also ends the need counts once, as one that may be incomplete. */
export function distinct(terms: readonly Term[]): Term[] {
  const byName = new Map<string, Term>();
  for (const term of terms) {
    const name = nameInNeed(term);
    if (!byName.has(name) || term.kind === 'beginning') byName.set(name, term);
  }
  return [...byName.values()];
}

export function nameInNeed({ kind, words, need }: Term): string {
  const typed = words.join(' ');
  return `${need} ${kind === 'phrase' ? `"${typed}"` : typed}`;
}

export function testOf({ kind, words }: Pick<Term, 'kind' | 'words'>): Test {
  const [first = ''] = words;
  if (kind === 'phrase') return (text) => hasPhrase(text, words);
  return (text) => hasStem(text, stemOf(first)) || (kind === 'beginning' && hasBeginning(text, first));
}

export function asTyped(term: Term, kind: Term['kind']): SearchedTerm {
  return { ...term, kind, typed: term.words.join(' '), usedAs: null };
}

export function nameOf({ kind, words }: Term): string {
  return kind === 'beginning' ? `${words[0]}*` : stemOf(words[0] ?? '');
}

function runOf(pairs: readonly string[]): string {
  return pairs.map((pair, at) => (at === 0 ? pair : [...pair].slice(1).join(''))).join('');
}

/** Splits runs in scripts without spaces into pairs, each a word of its own. */
export function contentOf(terms: readonly Term[]): { content: Term[]; ignored: Term[] } {
  const all = distinct(
    terms
      .filter(({ need }) => need !== 'excluded')
      .flatMap((term): Term[] =>
        term.kind === 'phrase' && term.need === 'wanted'
          ? term.words.map((word) => ({ kind: 'word', words: [word], need: 'wanted', run: runOf(term.words) }))
          : [term],
      ),
  );
  const says = ({ kind, words, need }: Term): boolean =>
    need === 'required' || kind === 'phrase' || !isStopWord(words[0] ?? '');
  return all.some(says)
    ? { content: all.filter(says), ignored: all.filter((term) => !says(term)) }
    : { content: all, ignored: [] };
}

/** Other spellings of neighboring words that are not quoted. */
export function spellingsOf(parts: readonly NaivePart[]): NaiveSpelling[] {
  const rows = [''];
  for (const { need, isQuoted, text } of parts) {
    if (isQuoted || (need === 'excluded' && tokenize(text).length > 1)) rows.push('');
    else if (need !== 'excluded') rows[rows.length - 1] += ` ${text}`;
  }
  return rows.flatMap(otherSpellings);
}

export function typedWords(parts: readonly NaivePart[]): string[] {
  return parts.filter(({ need }) => need !== 'excluded').flatMap(({ text }) => tokenize(text));
}

export function isTitle({ title }: NaiveWords, typed: readonly string[], used: ReadonlyMap<string, string>): boolean {
  const words = new Set(typed.flatMap((word) => used.get(word)?.split(' ') ?? [word]));
  return words.size > 0 && title.size === words.size && [...title].every((word) => words.has(word));
}

export function titleTest({ parts }: NaiveNeed, terms: readonly SearchedTerm[]): Test {
  const used = new Map(terms.flatMap(({ typed, usedAs }) => (usedAs === null ? [] : [[typed, usedAs] as const])));
  return (text) => isTitle(text, typedWords(parts), used);
}
