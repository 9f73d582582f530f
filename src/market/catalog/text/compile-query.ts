import type { Posting } from '../sets/posting.ts';
import type { DerivedSets } from './derived-sets.ts';
import { type Found, findBeginning, findPhrase, MISSING, makeBeginning, makePhrase } from './find-derived.ts';
import type { ParsedQuery, QueryTerm } from './parse-query.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import { rarity } from './term-level.ts';
import type { TextState } from './text-state.ts';

/**
 * What a query asks for. To be used at once: the sets are the living ones. With nothing in `must`, all live listings are meant
 * (less `mustNot`), unless it `matchesNothing`.
 */
export interface Search {
  must: Posting[];
  mustNot: Posting[];
  scored: { posting: Posting; weight: number }[];
  matchesNothing: boolean;
}

/** Null when a set has to be made first: `prepareQuery` does. */
export function compileQuery(sets: DerivedSets, state: TextState, query: ParsedQuery): Search | null {
  const search: Search = { must: [], mustNot: [], scored: [], matchesNothing: query.terms.length === 0 };
  const scoredNames = new Set<string>();
  let isMissing = false;
  // Plain words first: if one of them is nowhere, no set has to be made.
  for (const term of wordsFirst(query)) {
    const found = findTerm(sets, state, term);
    if (found === MISSING) isMissing = true;
    else if (term.excluded) {
      if (found !== null) addOnce(search.mustNot, found);
    } else if (found === null) return { must: [], mustNot: [], scored: [], matchesNothing: true };
    else {
      addOnce(search.must, found);
      addScored(state, search, scoredNames, term, found);
    }
  }
  return isMissing ? null : search;
}

/** Makes the sets that `compileQuery` missed, giving way to other work in between. */
export async function prepareQuery(sets: DerivedSets, state: TextState, query: ParsedQuery): Promise<void> {
  for (const term of wordsFirst(query)) {
    const found = findTerm(sets, state, term);
    if (found === null && !term.excluded) return;
    if (found !== MISSING) continue;
    if (term.kind === 'beginning') await makeBeginning(sets, state, term.words[0] ?? '');
    else await makePhrase(sets, state, term.words);
  }
}

function wordsFirst(query: ParsedQuery): readonly QueryTerm[] {
  if (query.terms.length < 2) return query.terms;
  const isPlain = (term: QueryTerm): boolean => term.kind === 'word';
  return [...query.terms.filter(isPlain), ...query.terms.filter((term) => !isPlain(term))];
}

function findTerm(sets: DerivedSets, state: TextState, term: QueryTerm): Found {
  const word = term.words[0] ?? '';
  if (term.kind === 'word') {
    const posting = postingOfStem(state.stems, stemsOfTerm(term)[0] ?? '');
    return posting === null || posting.count === 0 ? null : posting;
  }
  return nonEmpty(term.kind === 'beginning' ? findBeginning(sets, state, word) : findPhrase(sets, state, term.words));
}

function nonEmpty(found: Found): Found {
  return found !== null && found !== MISSING && found.count === 0 ? null : found;
}

/**
 * All members of a phrase have it, so it tells nothing about their order: its words do. What is asked for twice counts once, and that is
 * judged by what was asked: two names may share a set in one process and not in another.
 */
function addScored(state: TextState, search: Search, names: Set<string>, term: QueryTerm, found: Posting): void {
  const add = (name: string, posting: Posting | null): void => {
    if (posting === null || names.has(name)) return;
    names.add(name);
    search.scored.push({ posting, weight: rarity(state.listings, posting.count) });
  };
  if (term.kind === 'beginning') add(`${term.words[0] ?? ''}*`, found);
  else {
    for (const stem of stemsOfTerm(term)) add(stem, postingOfStem(state.stems, stem));
  }
}

function addOnce(list: Posting[], posting: Posting): void {
  if (!list.includes(posting)) list.push(posting);
}

const stemsOf = new WeakMap<QueryTerm, readonly string[]>();

/** Of each of its words. */
function stemsOfTerm(term: QueryTerm): readonly string[] {
  const known = stemsOf.get(term);
  if (known !== undefined) return known;
  const stems = term.words.map(stemOf);
  stemsOf.set(term, stems);
  return stems;
}
