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
  const misspelled = [...new Set(words)]
    .map((word) => ({ word, candidates: isPair(word) ? [] : correctNaively(texts, word) }))
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
  const long = misspelled.filter(({ word }) => word.length > 3);
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
    score: scoreOf(texts, terms),
  };
}

function searchAny(texts: readonly NaiveWords[], need: NaiveNeed, all: readonly Term[]): NaiveSearch {
  const { content, ignored } = contentOf(all);
  const spellings = spellingsOf(need.parts);
  const resolved = resolveTerms(texts, need, { content, spellings });
  const terms = [...resolved.flatMap(({ searched }) => searched), ...namesOfStopWords(texts, content, spellings)];
  const missing = resolved.filter(({ isMissing }) => isMissing).map(({ term }) => term);
  const wanted = new Map(terms.filter((term) => term.need === 'wanted').map((term) => [nameOf(term), [testOf(term)]]));
  const scored: Term[] = [...terms];
  for (const { word, words } of spellings) {
    const spelled: Term = { kind: 'word', words: [word], need: 'wanted' };
    const covered = terms.filter((term) => term.need === 'wanted' && words.includes(term.typed)).map(nameOf);
    for (const name of covered) wanted.get(name)?.push(testOf(spelled));
    if (covered.length > 0) scored.push(spelled);
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
    missing: [...new Set(missing.map(({ words }) => words.join(' ')))],
    isTitle: titleTest(need, terms),
    score: scoreOf(texts, scored),
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
  return words.size > 0 && title.symmetricDifference(words).size === 0;
}

function titleTest({ parts }: NaiveNeed, terms: readonly SearchedTerm[]): Test {
  const used = new Map(terms.flatMap(({ typed, usedAs }) => (usedAs === null ? [] : [[typed, usedAs] as const])));
  return (text) => isTitle(text, typedWords(parts), used);
}

/** Adds up the gains of the words, each once, with weights by how many of these listings have it. */
function scoreOf(texts: readonly NaiveWords[], terms: readonly Term[]): (text: NaiveWords) => number {
  const levels = new Map<string, (text: NaiveWords) => number>();
  for (const { kind, words } of terms) {
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
