import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { isStopWord } from '../../src/market/catalog/text/stop-words.ts';
import { LEVEL_GAINS, rarityWeight } from '../../src/market/catalog/text/term-levels.ts';
import { isPair, tokenize } from '../../src/market/catalog/text/tokenize.ts';
import {
  correctNaively,
  hasBeginning,
  hasPhrase,
  hasStem,
  levelOfBeginning,
  levelOfStem,
  type NaiveWords,
  otherSpellings,
} from './naive-words.ts';

/** A second implementation of the search for a need, as loops over the words of all live listings. */

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

interface Term {
  kind: 'word' | 'beginning' | 'phrase';
  words: readonly string[];
  need: Need;
}

interface SearchedTerm extends Term {
  typed: string;
  usedAs: string | null;
}

type Test = (text: NaiveWords) => boolean;

/** A need as its words were searched for the first page. Later pages search the same. */
export interface NaiveSearch {
  required: readonly Test[];
  excluded: readonly Test[];
  /** Tests of each wanted word: one for each spelling. */
  wanted: readonly (readonly Test[])[];
  matchesNothing: boolean;
  terms: readonly SearchedTerm[];
  ignored: readonly string[];
  missing: readonly string[];
  isTitle: Test;
  score: (text: NaiveWords) => number;
}

const isSingle = (word: string): boolean => isPair(word) && [...word].length === 1;

/** In a script without spaces, the last character of a run says nothing beyond the pair before it. */
function wordsOfRun(text: string): string[] {
  const words = tokenize(text);
  return words.length > 1 && isSingle(words.at(-1) ?? '') ? words.slice(0, -1) : words;
}

function termsOfPart({ need, isQuoted, isOpen, text }: NaivePart): Term[] {
  const words = wordsOfRun(text);
  if (isQuoted) return [{ kind: 'phrase', words, need: need === 'excluded' ? need : 'required' }];
  if (words.length > 1 && (need === 'excluded' || isPair(words[0] ?? ''))) return [{ kind: 'phrase', words, need }];
  return words.map((word, at) => {
    const isBeginning = isSingle(word) || (isOpen && at === words.length - 1 && need !== 'excluded' && word.length > 2);
    return { kind: isBeginning ? 'beginning' : 'word', words: [word], need };
  });
}

function distinct<T>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

export function termsOf({ parts }: NaiveNeed): Term[] {
  return distinct(parts.flatMap(termsOfPart)).sort(byText);
}

function testOf({ kind, words }: Pick<Term, 'kind' | 'words'>): Test {
  const [first = ''] = words;
  if (kind === 'phrase') return (text) => hasPhrase(text, words);
  return (text) => hasStem(text, stemOf(first)) || (kind === 'beginning' && hasBeginning(text, first));
}

/** Returns the terms searched for a word: none if it is missing. */
function resolveTerm(texts: readonly NaiveWords[], term: Term): SearchedTerm[] {
  const typed = term.words.join(' ');
  const as = (kind: Term['kind']): SearchedTerm[] => [{ ...term, kind, typed, usedAs: null }];
  const [word = ''] = term.words;
  if (term.kind === 'phrase') return as('phrase');
  if (!isSingle(word) && texts.some((text) => hasStem(text, stemOf(word)))) return as('word');
  if (term.kind === 'beginning' && texts.some((text) => hasBeginning(text, word))) return as('beginning');
  const usedAs = isSingle(word) ? null : correctNaively(texts, word);
  return (usedAs?.split(' ') ?? []).map((one) => ({ kind: 'word', words: [one], need: term.need, typed, usedAs }));
}

/** Splits runs in scripts without spaces into pairs, each a word of its own. */
function contentOf(terms: readonly Term[]): { content: Term[]; ignored: Term[] } {
  const all = distinct(
    terms
      .filter(({ need }) => need !== 'excluded')
      .flatMap((term): Term[] =>
        term.kind === 'phrase' && term.need === 'wanted'
          ? term.words.map((word) => ({ kind: 'word', words: [word], need: 'wanted' }))
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
function spellingsOf(parts: readonly NaivePart[]): { word: string; words: string[] }[] {
  const rows = [''];
  for (const { need, isQuoted, text } of parts) {
    if (isQuoted || (need === 'excluded' && tokenize(text).length > 1)) rows.push('');
    else if (need !== 'excluded') rows[rows.length - 1] += ` ${text}`;
  }
  return rows.flatMap(otherSpellings);
}

export function searchNaively(texts: readonly NaiveWords[], need: NaiveNeed): NaiveSearch {
  const all = termsOf(need);
  const isAny = need.match === 'any';
  const { content, ignored } = contentOf(all);
  const resolved = isAny
    ? content.map((term) => ({ term, terms: resolveTerm(texts, term) }))
    : all
        .filter((term) => term.need !== 'excluded')
        .map((term) => ({
          term,
          terms: [{ ...term, need: 'required' as Need, typed: term.words.join(' '), usedAs: null }],
        }));
  const terms = resolved.flatMap((one) => one.terms);
  const lacking = resolved.filter((one) => one.terms.length === 0).map((one) => one.term);
  const wanted = new Map(terms.filter((term) => term.need === 'wanted').map((term) => [nameOf(term), [testOf(term)]]));
  const spellings = isAny ? spellingsOf(need.parts) : [];
  for (const { word, words } of spellings) {
    const test = testOf({ kind: 'word', words: [word] });
    const covered = terms.filter((term) => term.need === 'wanted' && words.includes(term.typed)).map(nameOf);
    for (const name of covered) wanted.get(name)?.push(test);
    if (covered.length === 0 && !wanted.has(stemOf(word)) && texts.some(test)) wanted.set(stemOf(word), [test]);
  }
  const required = terms.filter((term) => term.need === 'required');
  const hasWords = all.some((term) => term.need !== 'excluded');
  return {
    required: required.map(testOf),
    excluded: all.filter((term) => term.need === 'excluded').map(testOf),
    wanted: [...wanted.values()],
    matchesNothing:
      lacking.some((term) => term.need === 'required') ||
      all.length === 0 ||
      (hasWords && required.length + wanted.size === 0),
    terms,
    ignored: isAny ? [...new Set(ignored.map(({ words }) => words.join(' ')))] : [],
    missing: [...new Set(lacking.map(({ words }) => words.join(' ')))],
    isTitle: titleTest(need, terms),
    score: scoreOf(texts, terms, spellings),
  };
}

function nameOf({ kind, words }: Term): string {
  return kind === 'beginning' ? `${words[0]}*` : stemOf(words[0] ?? '');
}

function titleTest({ parts }: NaiveNeed, terms: readonly SearchedTerm[]): Test {
  const typed = parts.filter(({ need }) => need !== 'excluded').flatMap(({ text }) => tokenize(text));
  const used = new Set(
    typed.flatMap((word) => terms.find((term) => term.typed === word)?.usedAs?.split(' ') ?? [word]),
  );
  return ({ title }) => used.size > 0 && title.symmetricDifference(used).size === 0;
}

/** Adds up the gains of the words, each once, with weights by how many of these listings have it. */
function scoreOf(texts: readonly NaiveWords[], terms: readonly SearchedTerm[], spellings: readonly { word: string }[]) {
  const levels = new Map<string, (text: NaiveWords) => number>();
  for (const { kind, words } of [...terms, ...spellings.map(({ word }) => ({ kind: 'word', words: [word] }))]) {
    const [first = ''] = words;
    if (kind === 'beginning') levels.set(`${first}*`, (text) => levelOfBeginning(text, first));
    else for (const word of words) levels.set(stemOf(word), (text) => levelOfStem(text, stemOf(word)));
  }
  const weighted = [...levels.values()].map((levelIn) => {
    const having = texts.filter((text) => levelIn(text) > 0).length;
    return { levelIn, weight: rarityWeight(texts.length, having) };
  });
  return (text: NaiveWords): number =>
    weighted.reduce((score, { levelIn, weight }) => score + weight * (LEVEL_GAINS[levelIn(text)] ?? 0), 0);
}

/** Number of wanted words that a listing has. */
export function coverageOf(search: NaiveSearch, text: NaiveWords): number {
  return search.wanted.filter((spellings) => spellings.some((test) => test(text))).length;
}

export function meetsNaively(search: NaiveSearch, text: NaiveWords, least: number): boolean {
  const { required, excluded, matchesNothing } = search;
  const isIn = required.every((test) => test(text)) && !excluded.some((test) => test(text));
  return !matchesNothing && isIn && coverageOf(search, text) >= least;
}

/** Says how each word is searched, with its number of listings among these. */
export function reportWords({ terms }: NaiveSearch, texts: readonly NaiveWords[]) {
  const words = new Map<string, { word: string; listings: number; used_as?: string }>();
  for (const term of terms) {
    const having = texts.filter(testOf(term)).length;
    const listings = Math.min(having, words.get(term.typed)?.listings ?? having);
    words.set(term.typed, { word: term.typed, listings, ...(term.usedAs === null ? {} : { used_as: term.usedAs }) });
  }
  return [...words.values()];
}
