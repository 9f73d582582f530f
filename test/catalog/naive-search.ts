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
  type NaiveSpelling,
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
  /** The run in a script without spaces that this pair is from. */
  run?: string;
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

/** Returns the terms in typed order. A word that also ends the need counts once, as one that may be incomplete. */
function distinct(terms: readonly Term[]): Term[] {
  const byName = new Map<string, Term>();
  for (const term of terms) {
    const name = nameInNeed(term);
    if (!byName.has(name) || term.kind === 'beginning') byName.set(name, term);
  }
  return [...byName.values()];
}

function nameInNeed({ kind, words, need }: Term): string {
  const typed = words.join(' ');
  return `${need} ${kind === 'phrase' ? `"${typed}"` : typed}`;
}

function testOf({ kind, words }: Pick<Term, 'kind' | 'words'>): Test {
  const [first = ''] = words;
  if (kind === 'phrase') return (text) => hasPhrase(text, words);
  return (text) => hasStem(text, stemOf(first)) || (kind === 'beginning' && hasBeginning(text, first));
}

/** The nearest spelling is looked for so many times, because that reads all words of the market. */
const MOST_CORRECTED = 4;

interface Resolved {
  term: Term;
  /** Terms searched for the word. */
  searched: SearchedTerm[];
  isMissing: boolean;
}

function resolveTerms(
  texts: readonly NaiveWords[],
  { parts }: NaiveNeed,
  { content, spellings }: { content: readonly Term[]; spellings: readonly NaiveSpelling[] },
): Resolved[] {
  const sorted = content.toSorted((a, b) => (nameInNeed(a) < nameInNeed(b) ? -1 : 1));
  const isSpelled = ({ need, words: [word = ''] }: Term): boolean =>
    need === 'wanted' &&
    spellings.some((one) => one.words.includes(word) && texts.some((text) => hasStem(text, stemOf(one.word))));
  const forms = new Map(sorted.map((term) => [term, formOf(texts, term) ?? (isSpelled(term) ? 'word' : null)]));
  const missing = sorted.filter((term) => forms.get(term) === null);
  const known = sorted
    .filter((term) => forms.get(term) === 'word' || term.kind === 'phrase')
    .flatMap(({ words }) => words);
  const used = chooseSpellings(
    texts,
    missing.slice(0, MOST_CORRECTED).map(({ words: [word = ''] }) => word),
    {
      typed: typedWords(parts),
      known,
    },
  );
  return content.map((term) => {
    const kind = forms.get(term) ?? null;
    if (kind !== null) return { term, searched: [asTyped(term, kind)], isMissing: false };
    const usedAs = used.get(term.words[0] ?? '');
    if (usedAs !== undefined) {
      const searched = usedAs.split(' ').map((one) => ({ ...asTyped(term, 'word'), words: [one], usedAs }));
      return { term, searched, isMissing: false };
    }
    // A required word that is missing stays, so that nothing matches.
    return { term, searched: term.need === 'required' ? [asTyped(term, 'word')] : [], isMissing: true };
  });
}

/** Chooses the spellings that make a title of the need, or else those that stand most often beside the rarest known word. */
function chooseSpellings(
  texts: readonly NaiveWords[],
  words: readonly string[],
  { typed, known }: { typed: readonly string[]; known: readonly string[] },
): Map<string, string> {
  const distinctTyped = [...new Set(typed)];
  const misspelled = [...new Set(words)]
    .map((word) => {
      const at = distinctTyped.indexOf(word);
      const joined = [`${distinctTyped[at - 1] ?? ' '}${word}`, `${word}${distinctTyped[at + 1] ?? ' '}`];
      const held = joined.filter((one) => texts.some((text) => hasStem(text, stemOf(one))));
      if (held.length > 0) return { word, candidates: held, isShort: false };
      return { word, candidates: isPair(word) ? [] : correctNaively(texts, word), isShort: word.length < 4 };
    })
    .filter(({ candidates }) => candidates.length > 0);
  const combinations = misspelled.reduce<Map<string, string>[]>(
    (all, { word, candidates }) =>
      all.flatMap((one) => candidates.map((candidate) => new Map([...one, [word, candidate]]))).slice(0, 64),
    [new Map()],
  );
  const titled = combinations.find((used) => texts.some((text) => isTitle(text, typed, used)));
  if (titled !== undefined) return titled;
  const neighbors = known
    .map((word) => texts.filter((text) => hasStem(text, stemOf(word))))
    .filter((having) => having.length > 0)
    .sort((a, b) => a.length - b.length)[0];
  const long = misspelled.filter(({ isShort }) => !isShort);
  return new Map(
    long.map(({ word, candidates }) => {
      const beside = candidates.map((one) => neighbors?.filter((text) => hasStem(text, stemOf(one))).length ?? 0);
      return [word, candidates[beside.indexOf(Math.max(...beside))] ?? ''];
    }),
  );
}

function asTyped(term: Term, kind: Term['kind']): SearchedTerm {
  return { ...term, kind, typed: term.words.join(' '), usedAs: null };
}

/** Returns how a word is searched, or null if no listing has it. */
function formOf(texts: readonly NaiveWords[], { kind, words: [word = ''] }: Term): Term['kind'] | null {
  if (kind === 'phrase') return kind;
  if (!(kind === 'beginning' && isSingle(word)) && texts.some((text) => hasStem(text, stemOf(word)))) return 'word';
  return kind === 'beginning' && texts.some((text) => hasBeginning(text, word)) ? kind : null;
}

function runOf(pairs: readonly string[]): string {
  return pairs.map((pair, at) => (at === 0 ? pair : [...pair].slice(1).join(''))).join('');
}

/** Splits runs in scripts without spaces into pairs, each a word of its own. */
function contentOf(terms: readonly Term[]): { content: Term[]; ignored: Term[] } {
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
function spellingsOf(parts: readonly NaivePart[]): NaiveSpelling[] {
  const rows = [''];
  for (const { need, isQuoted, text } of parts) {
    if (isQuoted || (need === 'excluded' && tokenize(text).length > 1)) rows.push('');
    else if (need !== 'excluded') rows[rows.length - 1] += ` ${text}`;
  }
  return rows.flatMap(otherSpellings);
}

export function searchNaively(texts: readonly NaiveWords[], need: NaiveNeed): NaiveSearch {
  const all = need.parts.flatMap(termsOfPart);
  return need.match === 'all' ? searchAll(texts, need, all) : searchAny(texts, need, all);
}

function searchAll(texts: readonly NaiveWords[], need: NaiveNeed, all: readonly Term[]): NaiveSearch {
  const terms = all
    .filter((term) => term.need !== 'excluded')
    .map((term) => asTyped({ ...term, need: 'required' }, term.kind));
  return {
    required: terms.map(testOf),
    excluded: all.filter((term) => term.need === 'excluded').map(testOf),
    wanted: [],
    matchesNothing: all.length === 0,
    terms,
    ignored: [],
    missing: [],
    isTitle: titleTest(need, terms),
    score: scoreOf(partsOf(texts, terms)),
  };
}

function searchAny(texts: readonly NaiveWords[], need: NaiveNeed, all: readonly Term[]): NaiveSearch {
  const { content, ignored } = contentOf(all);
  const spellings = spellingsOf(need.parts);
  const resolved = resolveTerms(texts, need, { content, spellings });
  const terms = [...resolved.flatMap(({ searched }) => searched), ...namesOfStopWords(texts, content, spellings)];
  const foundRuns = resolved.filter(({ isMissing }) => !isMissing).map(({ term }) => term.run);
  const missing = resolved
    .filter(({ isMissing, term: { run } }) => isMissing && (run === undefined || !foundRuns.includes(run)))
    .map(({ term }) => term);
  const wanted = new Map(terms.filter((term) => term.need === 'wanted').map((term) => [nameOf(term), [testOf(term)]]));
  const scored = partsOf(texts, terms);
  for (const { word, words } of spellings) {
    const covered = terms.filter((term) => term.need === 'wanted' && words.includes(term.typed)).map(nameOf);
    for (const name of covered) wanted.get(name)?.push(testOf({ kind: 'word', words: [word] }));
    addSpelling(texts, scored, { word, covered });
  }
  const required = terms.filter((term) => term.need === 'required');
  const isEmpty = all.some((term) => term.need !== 'excluded') && required.length + wanted.size === 0;
  return {
    required: required.map(testOf),
    excluded: all.filter((term) => term.need === 'excluded').map(testOf),
    wanted: [...wanted.values()],
    matchesNothing: missing.some((term) => term.need === 'required') || all.length === 0 || isEmpty,
    terms,
    ignored: [...new Set(ignored.map(({ words }) => words.join(' ')))],
    missing: [...new Set(missing.map(({ words, run }) => run ?? words.join(' ')))],
    isTitle: titleTest(need, terms),
    score: scoreOf(scored),
  };
}

/** A name whose words all say nothing, such as `todo` for `to do`, is a word of its own if a listing has it. */
function namesOfStopWords(
  texts: readonly NaiveWords[],
  content: readonly Term[],
  spellings: readonly NaiveSpelling[],
): SearchedTerm[] {
  const names = spellings
    .filter(({ words }) => words.every(isStopWord))
    .map(({ word }): Term => ({ kind: 'word', words: [word], need: 'wanted' }));
  const others = distinct(names).filter((name) => content.every((term) => nameInNeed(term) !== nameInNeed(name)));
  return others.filter((name) => formOf(texts, name) !== null).map((name) => asTyped(name, 'word'));
}

function nameOf({ kind, words }: Term): string {
  return kind === 'beginning' ? `${words[0]}*` : stemOf(words[0] ?? '');
}

function typedWords(parts: readonly NaivePart[]): string[] {
  return parts.filter(({ need }) => need !== 'excluded').flatMap(({ text }) => tokenize(text));
}

function isTitle({ title }: NaiveWords, typed: readonly string[], used: ReadonlyMap<string, string>): boolean {
  const words = new Set(typed.flatMap((word) => used.get(word)?.split(' ') ?? [word]));
  return words.size > 0 && title.size === words.size && [...title].every((word) => words.has(word));
}

function titleTest({ parts }: NaiveNeed, terms: readonly SearchedTerm[]): Test {
  const used = new Map(terms.flatMap(({ typed, usedAs }) => (usedAs === null ? [] : [[typed, usedAs] as const])));
  return (text) => isTitle(text, typedWords(parts), used);
}

/** A part of a score: the level that a listing has in it, times its weight. */
interface Part {
  levelIn: (text: NaiveWords) => number;
  weight: number;
}

const MOST_WEIGHT = 511;

/** Weighs the terms by how many of these listings have them, corrected ones half. Of equal ones the higher weight counts. */
function partsOf(texts: readonly NaiveWords[], terms: readonly SearchedTerm[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  const add = (name: string, levelIn: Part['levelIn'], share: number): void => {
    const weight = Math.ceil(weightOf(texts, levelIn) * share);
    if ((parts.get(name)?.weight ?? 0) < weight) parts.set(name, { levelIn, weight });
  };
  for (const { kind, words, usedAs } of terms) {
    const [first = ''] = words;
    if (kind === 'beginning') add(`${first}*`, (text) => levelOfBeginning(text, first), 1);
    else
      for (const word of words) add(stemOf(word), (text) => levelOfStem(text, stemOf(word)), usedAs === null ? 1 : 0.5);
  }
  return parts;
}

function weightOf(texts: readonly NaiveWords[], levelIn: Part['levelIn']): number {
  return rarityWeight(texts.length, texts.filter((text) => levelIn(text) > 0).length);
}

/** Adds another spelling, which weighs as much as the words that it stands for, or more if it is rare. */
function addSpelling(
  texts: readonly NaiveWords[],
  parts: Map<string, Part>,
  spelled: { word: string; covered: readonly string[] },
): void {
  const stem = stemOf(spelled.word);
  if (spelled.covered.length === 0 || parts.has(stem)) return;
  const levelIn = (text: NaiveWords): number => levelOfStem(text, stem);
  const sum = spelled.covered.reduce((all, name) => all + (parts.get(name)?.weight ?? 0), 0);
  parts.set(stem, { levelIn, weight: Math.max(Math.min(MOST_WEIGHT, sum), weightOf(texts, levelIn)) });
}

function scoreOf(parts: ReadonlyMap<string, Part>): (text: NaiveWords) => number {
  const all = [...parts.values()];
  return (text) => all.reduce((score, { levelIn, weight }) => score + weight * (LEVEL_GAINS[levelIn(text)] ?? 0), 0);
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
