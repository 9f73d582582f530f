import type { TermSets } from '../sets/coverage.ts';
import { createPosting, type Posting, setLevel } from '../sets/posting.ts';
import type { Weighted } from '../sets/score-parts.ts';
import { beginningKey, type DerivedSets, keepBeginning, keepPhrase, keptDerived, phraseKey } from './derived-sets.ts';
import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import type { Resolution, ResolvedTerm } from './resolve-query.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import { rarityWeight } from './term-levels.ts';
import {
  beginningLevel,
  buildBeginning,
  buildPhrase,
  phraseLevel,
  phraseWords,
  planBeginning,
  planPhrase,
} from './term-sets.ts';
import { type TextState, writeWaiting } from './text-state.ts';
import { titledListings } from './titled-listings.ts';

/** The set does not exist yet and takes too long to build in this call. */
const MISSING_SET = 'missing';
type FoundSet = Posting | null | typeof MISSING_SET;

/** Highest cost of a set that is built within the call: about a millisecond. */
const MOST_INLINE_COST = 10_000;

function findBeginning(sets: DerivedSets, state: TextState, beginning: string): FoundSet {
  const key = beginningKey(beginning);
  const existing = keptDerived(sets, key);
  if (existing !== null) return existing.posting ?? postingOfStem(state.stems, existing.stem);
  if (sets.building.has(key)) return MISSING_SET;
  const plan = planBeginning(state, beginning);
  if (plan.whole.length === 0 && plan.partial.length === 0) return null;
  if (plan.isTypedStem) {
    keepBeginning(sets, state, beginning, null);
    return postingOfStem(state.stems, stemOf(beginning));
  }
  if (plan.cost > MOST_INLINE_COST) return MISSING_SET;
  const posting = buildNow(buildBeginning(state, plan));
  keepBeginning(sets, state, beginning, posting);
  return posting;
}

function findPhrase(sets: DerivedSets, state: TextState, words: readonly string[]): FoundSet {
  const ids = phraseWords(state, words);
  if (ids === null) return null;
  const key = phraseKey(words);
  const existing = keptDerived(sets, key);
  if (existing !== null) return existing.posting;
  if (sets.building.has(key)) return MISSING_SET;
  const plan = planPhrase(state, ids);
  if (plan.cost > MOST_INLINE_COST) return MISSING_SET;
  const posting = buildNow(buildPhrase(state, plan));
  keepPhrase(sets, words, posting);
  return posting;
}

function buildBeginningInSlices(sets: DerivedSets, state: TextState, beginning: string): Promise<void> {
  return buildOnce(sets, beginningKey(beginning), async (touched) => {
    const steps = buildBeginning(state, planBeginning(state, beginning));
    const posting = await inSlices(sets, state, steps);
    for (const id of touched) setLevel(posting, id, beginningLevel(state, beginning, id));
    keepBeginning(sets, state, beginning, posting);
  });
}

function buildPhraseInSlices(sets: DerivedSets, state: TextState, words: readonly string[]): Promise<void> {
  return buildOnce(sets, phraseKey(words), async (touched) => {
    const ids = phraseWords(state, words);
    if (ids === null) return;
    const posting = await inSlices(sets, state, buildPhrase(state, planPhrase(state, ids)));
    for (const id of touched) setLevel(posting, id, phraseLevel(state, words, id));
    keepPhrase(sets, words, posting);
  });
}

/** Builds a set once for all concurrent callers. */
function buildOnce(sets: DerivedSets, key: string, build: (touched: number[]) => Promise<void>): Promise<void> {
  const running = sets.building.get(key);
  if (running !== undefined) return running.done;
  const touched: number[] = [];
  // Start asynchronously, so that `touched` is registered first.
  const done = Promise.resolve()
    .then(() => build(touched))
    .finally(() => sets.building.delete(key));
  sets.building.set(key, { done, touched });
  return done;
}

async function inSlices(sets: DerivedSets, state: TextState, steps: Generator<void, Posting>): Promise<Posting> {
  for (;;) {
    writeWaiting(state.waiting, state.stems);
    const step = steps.next();
    if (step.done === true) return step.value;
    await sets.giveWay();
  }
}

function buildNow(steps: Generator<void, Posting>): Posting {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Valid until the index changes. */
export interface Search {
  readonly must: readonly Posting[];
  readonly mustNot: readonly Posting[];
  /** Terms of which a listing needs one; if something must be there, none. */
  readonly wanted: readonly TermSets[];
  readonly scored: readonly Weighted[];
  /** Listings whose title is exactly the words of the query. */
  readonly titled: ReadonlySet<number>;
  /** If false, everything in `must` and `mustNot` decides; an empty `must` means all live listings. */
  readonly matchesNothing: boolean;
  readonly resolution: Resolution;
  /** The number of listings by word, in the order of the query. */
  readonly words: readonly SearchedWord[];
}

/** A word as typed, and what was searched in its place. */
export interface SearchedWord {
  readonly word: string;
  /** Listings that have it; of two words that stand in its place, the rarer one. */
  readonly listings: number;
  readonly usedAs: string | null;
}

const NO_LISTINGS = createPosting();
/** The highest weight that fits into a cursor. */
const MAX_WEIGHT = 511;

/** Returns null if a set must be built first; then call `prepareQuery`. */
export function compileQuery(sets: DerivedSets, state: TextState, resolution: Resolution): Search | null {
  const { query, terms } = resolution;
  const excluded = query.terms.filter(({ need }) => need === 'excluded');
  const found = new Map<Term, Posting | null>();
  let isMissing = false;
  for (const term of [...terms, ...excluded]) {
    const set = findTerm(sets, state, term);
    if (set === MISSING_SET) isMissing = true;
    // A set that was built and emptied since is as good as none.
    else found.set(term, set !== null && set.count > 0 ? set : null);
  }
  return isMissing ? null : createSearch(state, resolution, { found, excluded });
}

interface FoundTerms {
  readonly found: ReadonlyMap<Term, Posting | null>;
  readonly excluded: readonly Term[];
}

function createSearch(state: TextState, resolution: Resolution, { found, excluded }: FoundTerms): Search {
  const { query, terms } = resolution;
  const required = terms.filter(({ need }) => need === 'required');
  const must = [...new Set(required.map((term) => found.get(term) ?? NO_LISTINGS))];
  const scoring = createScoring(state);
  const wanted = new Map<string, Posting[]>();
  for (const term of terms) {
    const set = found.get(term) ?? NO_LISTINGS;
    scoreTerm(scoring, term, {
      set,
      isExtra: must.length > 0 && term.need === 'required',
      isSure: term.usedAs === null,
    });
    if (term.need === 'wanted') wanted.set(nameOf(term), [set]);
  }
  addVariants(scoring, resolution, wanted);
  const onlyExcludes = excluded.length > 0 && !hasWords(query);
  const isEmpty = must.some(({ count }) => count === 0) || (must.length + wanted.size === 0 && !onlyExcludes);
  return {
    must,
    mustNot: [...new Set(excluded.flatMap((term) => found.get(term) ?? []))],
    wanted: [...wanted.values()],
    scored: sortedScores(scoring),
    titled: titledListings(state, query.typed, correctionsOf(terms)),
    matchesNothing: isEmpty,
    resolution,
    words: searchedWords(terms, found),
  };
}

/** Returns what is searched in place of each corrected word. */
function correctionsOf(terms: readonly ResolvedTerm[]): ReadonlyMap<string, string> {
  return new Map(terms.flatMap(({ typed, usedAs }) => (usedAs === null ? [] : [[typed, usedAs] as const])));
}

function hasWords(query: ParsedQuery): boolean {
  return query.terms.some(({ need }) => need !== 'excluded');
}

function searchedWords(terms: readonly ResolvedTerm[], found: FoundTerms['found']): SearchedWord[] {
  const words = new Map<string, SearchedWord>();
  for (const term of terms) {
    const { typed, usedAs } = term;
    const listings = Math.min(found.get(term)?.count ?? 0, words.get(typed)?.listings ?? Number.POSITIVE_INFINITY);
    words.set(typed, { word: typed, listings, usedAs });
  }
  return [...words.values()];
}

/** Builds the sets that `compileQuery` missed, yielding to other work. */
export async function prepareQuery(sets: DerivedSets, state: TextState, { query, terms }: Resolution): Promise<void> {
  const excluded = query.terms.filter(({ need }) => need === 'excluded');
  for (const term of [...terms, ...excluded]) {
    if (findTerm(sets, state, term) !== MISSING_SET) continue;
    if (term.kind === 'beginning') await buildBeginningInSlices(sets, state, term.words[0] ?? '');
    else await buildPhraseInSlices(sets, state, term.words);
  }
}

type Term = Pick<QueryTerm, 'kind' | 'words'>;

function findTerm(sets: DerivedSets, state: TextState, { kind, words }: Term): FoundSet {
  const word = words[0] ?? '';
  if (kind === 'word') return postingOfStem(state.stems, stemOf(word));
  return kind === 'beginning' ? findBeginning(sets, state, word) : findPhrase(sets, state, words);
}

interface Scoring {
  readonly state: TextState;
  /** Scored sets by name, because sets that several terms share vary by process. */
  readonly scored: Map<string, Weighted>;
}

function createScoring(state: TextState): Scoring {
  return { state, scored: new Map() };
}

/** Sorts by name, because a cursor stores the weights in this order and must fit the same words in any order. */
function sortedScores({ scored }: Scoring): Weighted[] {
  return [...scored].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, weighted]) => weighted);
}

function nameOf({ kind, words }: Term): string {
  if (kind === 'phrase') return JSON.stringify(words);
  return kind === 'beginning' ? `${words[0] ?? ''}*` : stemOf(words[0] ?? '');
}

interface ScoredSet {
  readonly set: Posting;
  readonly isExtra: boolean;
  /** False for a word that is searched in place of the one typed. */
  readonly isSure: boolean;
}

/** Adds a set once, with the higher weight of two. Sets without listings keep their place in the order of weights. */
function addScored({ state, scored }: Scoring, name: string, { set, isExtra, isSure }: ScoredSet): void {
  const rarity = rarityWeight(state.listings, set.count);
  const weight = isSure ? rarity : Math.ceil(rarity / 2);
  const existing = scored.get(name);
  if (existing !== undefined && existing.weight >= weight) return;
  scored.set(name, { posting: set, weight, isExtra: isExtra && existing?.isExtra !== false });
}

/** Scores a phrase by its words, because all matches contain it. */
function scoreTerm(scoring: Scoring, term: Term, scoredSet: ScoredSet): void {
  if (term.kind !== 'phrase') addScored(scoring, nameOf(term), scoredSet);
  else
    for (const word of term.words)
      addScored(scoring, stemOf(word), { set: setOfWord(scoring.state, word), isExtra: true, isSure: true });
}

/** Returns the weight of all these terms, because a name stands for all its words. */
function weightOf({ scored }: Scoring, names: readonly string[]): number {
  return Math.min(
    MAX_WEIGHT,
    names.reduce((sum, name) => sum + (scored.get(name)?.weight ?? 0), 0),
  );
}

function setOfWord(state: TextState, word: string): Posting {
  return postingOfStem(state.stems, stemOf(word)) ?? NO_LISTINGS;
}

/** Adds other spellings of wanted terms. */
function addVariants(scoring: Scoring, { query, terms, match }: Resolution, wanted: Map<string, Posting[]>): void {
  if (match === 'all') return;
  const { state, scored } = scoring;
  for (const { word, words } of query.variants) {
    const set = setOfWord(state, word);
    const covered = terms.filter(({ typed, need }) => need === 'wanted' && words.includes(typed)).map(nameOf);
    if (covered.length === 0) continue;
    const weight = Math.max(weightOf(scoring, covered), rarityWeight(state.listings, set.count));
    if (!scored.has(stemOf(word))) scored.set(stemOf(word), { posting: set, weight, isExtra: true });
    if (set.count > 0) for (const name of covered) wanted.get(name)?.push(set);
  }
}
