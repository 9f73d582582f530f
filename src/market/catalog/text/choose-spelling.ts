import { forEachMember, levelOf, type Posting } from '../sets/posting.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import type { TextState } from './text-state.ts';
import { titledListings } from './titled-listings.ts';

/** A misspelled word and the words it may stand for, the most used first. */
export interface Misspelled {
  readonly typed: string;
  readonly candidates: readonly string[];
  /** True for a word too short to correct unless the correction makes a title. */
  readonly isShort: boolean;
}

/** Bounds the combinations that are compared with titles. */
const MAX_COMBINATIONS = 64;
/** Listings of a known word that are read to see which candidate stands beside it. */
const MAX_NEIGHBORS = 2_000;

/**
 * Chooses a spelling for each misspelled word: those that make a title of the query, or else, word by word, the one that most listings with
 * the rarest known word have.
 */
export function chooseSpellings(
  state: TextState,
  misspelled: readonly Misspelled[],
  query: { typed: ReadonlySet<string>; known: readonly string[] },
): ReadonlyMap<string, string> {
  for (const combination of combinationsOf(misspelled)) {
    const corrected = new Map(combination);
    if (titledListings(state, query.typed, corrected).size > 0) return corrected;
  }
  const rarest = rarestOf(state, query.known);
  const long = misspelled.filter(({ isShort }) => !isShort);
  return new Map(long.map(({ typed, candidates }) => [typed, nearestTo(state, rarest, candidates)]));
}

/** Yields combinations of candidates, the most used first. */
function combinationsOf(misspelled: readonly Misspelled[]): (readonly (readonly [string, string])[])[] {
  let combinations: (readonly (readonly [string, string])[])[] = [[]];
  for (const { typed, candidates } of misspelled) {
    combinations = combinations
      .flatMap((combination) => candidates.map((candidate) => [...combination, [typed, candidate] as const]))
      .slice(0, MAX_COMBINATIONS);
  }
  return combinations;
}

function rarestOf({ stems }: TextState, known: readonly string[]): Posting | null {
  const sets = known.flatMap((word) => postingOfStem(stems, stemOf(word)) ?? []).filter(({ count }) => count > 0);
  return sets.reduce<Posting | null>(
    (rarest, set) => (rarest === null || set.count < rarest.count ? set : rarest),
    null,
  );
}

function nearestTo({ stems }: TextState, neighbors: Posting | null, candidates: readonly string[]): string {
  const [first = ''] = candidates;
  if (neighbors === null || neighbors.count > MAX_NEIGHBORS || candidates.length < 2) return first;
  const ids = membersOf(neighbors);
  const together = candidates.map((candidate) => {
    const set = postingOfStem(stems, stemOf(candidate));
    return set === null ? 0 : ids.filter((id) => levelOf(set, id) > 0).length;
  });
  return candidates[together.indexOf(Math.max(...together))] ?? first;
}

function membersOf(posting: Posting): number[] {
  const ids: number[] = [];
  forEachMember(posting, (id) => ids.push(id));
  return ids;
}
