import {
  asTyped,
  contentOf,
  type NaiveNeed,
  nameOf,
  type SearchedTerm,
  spellingsOf,
  type Term,
  type Test,
  termsOfPart,
  testOf,
  titleTest,
} from './naive-needs.ts';
import { namesOfStopWords, resolveTerms } from './naive-resolve.ts';
import { addSpelling, partsOf, scoreOf } from './naive-score.ts';
import type { NaiveWords } from './naive-words.ts';

/** A second implementation of the search for a need, as loops over the words of all live listings. */

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
