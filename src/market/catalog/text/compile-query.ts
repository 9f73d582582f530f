import { type Posting, setLevel } from '../sets/posting.ts';
import { beginningKey, type DerivedSets, keepBeginning, keepPhrase, keptDerived, phraseKey } from './derived-sets.ts';
import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import { postingOfStem, stemOf } from './stem-table.ts';
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

/** The set does not exist yet and takes too long to build in this call. */
const MISSING = 'missing';
type FoundSet = Posting | null | typeof MISSING;

/** Highest cost of a set that is built within the call: about a millisecond. */
const MOST_INLINE_COST = 10_000;

function findBeginning(sets: DerivedSets, state: TextState, beginning: string): FoundSet {
  const key = beginningKey(beginning);
  const existing = keptDerived(sets, key);
  if (existing !== null) return existing.posting ?? postingOfStem(state.stems, existing.stem);
  if (sets.building.has(key)) return MISSING;
  const plan = planBeginning(state, beginning);
  if (plan.whole.length === 0 && plan.partial.length === 0) return null;
  if (plan.isTypedStem) {
    keepBeginning(sets, state, beginning, null);
    return postingOfStem(state.stems, stemOf(beginning));
  }
  if (plan.cost > MOST_INLINE_COST) return MISSING;
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
  if (sets.building.has(key)) return MISSING;
  const plan = planPhrase(state, ids);
  if (plan.cost > MOST_INLINE_COST) return MISSING;
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

/** Valid until the index changes. An empty `must` means all live listings, unless `matchesNothing`. */
export interface Search {
  must: Posting[];
  mustNot: Posting[];
  scored: { posting: Posting; weight: number }[];
  matchesNothing: boolean;
}

/** Returns null if a set must be built first; then call `prepareQuery`. */
export function compileQuery(sets: DerivedSets, state: TextState, query: ParsedQuery): Search | null {
  const search: Search = { must: [], mustNot: [], scored: [], matchesNothing: query.terms.length === 0 };
  const scoring = { state, scored: search.scored, names: new Set<string>() };
  let isMissing = false;
  // Check plain words first: if one of them is in no listing, no set needs to be built.
  for (const term of wordsFirst(query)) {
    const found = findTerm(sets, state, term);
    if (found === MISSING) isMissing = true;
    else if (term.excluded) {
      if (found !== null) addOnce(search.mustNot, found);
    } else if (found === null) return { must: [], mustNot: [], scored: [], matchesNothing: true };
    else {
      addOnce(search.must, found);
      addScored(scoring, term, found);
    }
  }
  return isMissing ? null : search;
}

/** Builds the sets that `compileQuery` missed, yielding to other work. */
export async function prepareQuery(sets: DerivedSets, state: TextState, query: ParsedQuery): Promise<void> {
  for (const term of wordsFirst(query)) {
    const found = findTerm(sets, state, term);
    if (found === null && !term.excluded) return;
    if (found !== MISSING) continue;
    if (term.kind === 'beginning') await buildBeginningInSlices(sets, state, term.words[0] ?? '');
    else await buildPhraseInSlices(sets, state, term.words);
  }
}

function wordsFirst(query: ParsedQuery): readonly QueryTerm[] {
  if (query.terms.length < 2) return query.terms;
  const isPlain = (term: QueryTerm): boolean => term.kind === 'word';
  return [...query.terms.filter(isPlain), ...query.terms.filter((term) => !isPlain(term))];
}

function findTerm(sets: DerivedSets, state: TextState, term: QueryTerm): FoundSet {
  const word = term.words[0] ?? '';
  if (term.kind === 'word') {
    const posting = postingOfStem(state.stems, stemsOfTerm(term)[0] ?? '');
    return posting === null || posting.count === 0 ? null : posting;
  }
  return nonEmpty(term.kind === 'beginning' ? findBeginning(sets, state, word) : findPhrase(sets, state, term.words));
}

function nonEmpty(found: FoundSet): FoundSet {
  return found !== null && found !== MISSING && found.count === 0 ? null : found;
}

interface Scoring {
  state: TextState;
  scored: Search['scored'];
  names: Set<string>;
}

/** Scores a phrase by its words, because all matches contain it. Compares repeated terms by name, because shared sets vary by process. */
function addScored({ state, scored, names }: Scoring, term: QueryTerm, set: Posting): void {
  const add = (name: string, posting: Posting | null): void => {
    if (posting === null || names.has(name)) return;
    names.add(name);
    scored.push({ posting, weight: rarityWeight(state.listings, posting.count) });
  };
  if (term.kind === 'beginning') add(`${term.words[0] ?? ''}*`, set);
  else {
    for (const stem of stemsOfTerm(term)) add(stem, postingOfStem(state.stems, stem));
  }
}

function addOnce(list: Posting[], posting: Posting): void {
  if (!list.includes(posting)) list.push(posting);
}

const stemsOf = new WeakMap<QueryTerm, readonly string[]>();

function stemsOfTerm(term: QueryTerm): readonly string[] {
  const existing = stemsOf.get(term);
  if (existing !== undefined) return existing;
  const stems = term.words.map(stemOf);
  stemsOf.set(term, stems);
  return stems;
}
