import fc from 'fast-check';
import type { Ranking } from '../../src/market/catalog/sets/best-matches.ts';
import type { TermSets } from '../../src/market/catalog/sets/coverage.ts';
import type { Selection } from '../../src/market/catalog/sets/matches.ts';
import { createPosting, levelOf, type Posting, setLevel } from '../../src/market/catalog/sets/posting.ts';
import type { Weighted } from '../../src/market/catalog/sets/score-parts.ts';
import { createSortedIds, fillSorted, type SortedIds } from '../../src/market/catalog/sets/sorted-ids.ts';
import { LEVEL_GAINS } from '../../src/market/catalog/text/term-levels.ts';

/** Returns a pseudo-random number, the same in every run. */
export function mix(seed: number, id: number): number {
  let value = Math.imul(seed ^ Math.imul(id, 0x9e3779b1), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

export interface SetShape {
  seed: number;
  share: number;
  start: number;
  end: number;
  levels: number;
}

export function createSet({ seed, share, start, end, levels }: SetShape, universe: number): Posting {
  const posting = createPosting();
  for (let id = Math.ceil(1 + start * universe); id <= end * universe; id += 1) {
    const chance = mix(seed, id);
    // Low levels are common and high ones rare, as with words.
    if (chance / 2 ** 32 < share) setLevel(posting, id, Math.min(levels, 1 + Math.clz32(mix(seed + 1, id))));
  }
  return posting;
}

export function createOrder(universe: number, keys: number, direction: 'ascending' | 'descending'): SortedIds {
  const order = createSortedIds((id) => mix(5, id) % keys, direction);
  fillSorted(
    order,
    Uint32Array.from({ length: universe }, (_, at) => at + 1),
  );
  return order;
}

/** Counts the wanted terms of an id one by one. */
export function termsOf(wanted: readonly TermSets[], id: number): number {
  return wanted.filter((sets) => sets.some((posting) => levelOf(posting, id) > 0)).length;
}

/** Returns the matches, newest first. */
export function naiveMatches(selection: Selection, universe: number): number[] {
  const { must, mustNot, tests, wanted, least } = selection;
  const ids: number[] = [];
  for (let id = universe; id > 0; id -= 1) {
    if (!must.every((posting) => levelOf(posting, id) > 0)) continue;
    if (mustNot.some((posting) => levelOf(posting, id) > 0)) continue;
    if (wanted.length > 0 && termsOf(wanted, id) < least) continue;
    if (tests.every((test) => test(id))) ids.push(id);
  }
  return ids;
}

const shape = fc.record({
  seed: fc.integer({ min: 1, max: 1e9 }),
  share: fc.constantFrom(0, 0.002, 0.02, 0.1, 0.5, 0.95, 1),
  start: fc.constantFrom(0, 0, 0, 0.4),
  end: fc.constantFrom(1, 1, 1, 0.5),
  levels: fc.constantFrom(1, 2, 7),
});
const SETS = 6;
const FIGURES = 15;
const TESTS = [(id: number): boolean => id % 3 !== 0, (id: number): boolean => id % 7 > 1];
const pick = fc.integer({ min: 0, max: SETS - 1 });
const picks = (minLength: number, maxLength: number) => fc.array(pick, { minLength, maxLength });
const weight = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(1, 2, 7) }, fc.integer({ min: 1, max: 511 }));

/** A selection of random sets and a ranking that fits it, with the matches that a naive evaluation finds. */
export interface Situation {
  readonly universe: number;
  readonly selection: Selection;
  readonly ranking: Ranking;
  readonly limit: number;
  /** Newest first. */
  readonly matches: readonly number[];
}

export const situation: fc.Arbitrary<Situation> = fc
  .record({
    universe: fc.constantFrom(40, 700, 4096, 13_000),
    shapes: fc.array(shape, { minLength: SETS, maxLength: SETS }),
    must: picks(0, 3),
    mustNot: picks(0, 2),
    wanted: fc.array(picks(1, 3), { maxLength: 8 }),
    least: fc.nat(4),
    tests: fc.constantFrom(0, 0, 1, 2),
    weights: fc.array(weight, { minLength: 8, maxLength: 8 }),
    extras: fc.array(fc.record({ set: pick, weight }), { maxLength: 3 }),
    gains: fc.constantFrom(LEVEL_GAINS, [0, 1, 2, 3, 4, 5, 6, 7]),
    first: fc.constantFrom(0, 0, 0.001, 0.02, 0.6),
    figures: fc.oneof(fc.constant(null), shape),
    limit: fc.constantFrom(1, 3, 20, 51, 400),
  })
  .map((given) => {
    const { universe, must, mustNot, limit } = given;
    const sets = given.shapes.map((one) => createSet(one, universe));
    const at = (index: number): Posting => sets[index] ?? createPosting();
    const wanted = given.wanted.map((term) => term.map(at));
    // Without a set that all matches have, some term must be there.
    const needed = must.length === 0 ? Math.max(1, given.least) : given.least;
    const selection: Selection = {
      must: must.length + wanted.length === 0 ? [at(0)] : must.map(at),
      mustNot: mustNot.map(at),
      tests: TESTS.slice(0, given.tests),
      wanted,
      least: wanted.length === 0 ? 0 : needed,
    };
    const terms = wanted.map(([own], index): Weighted => {
      return { posting: own ?? createPosting(), weight: given.weights[index] ?? 1, isExtra: false };
    });
    const extras = given.extras.map(({ set, ...one }): Weighted => ({ ...one, posting: at(set), isExtra: true }));
    const withFigure = given.figures === null ? createPosting() : createSet(given.figures, universe);
    const firstIds = Array.from({ length: universe }, (_, index) => index + 1);
    const ranking: Ranking = {
      scored: [...extras.slice(1), ...terms, ...extras.slice(0, 1)],
      gains: given.gains,
      first: new Set(firstIds.filter((id) => mix(77, id) / 2 ** 32 < given.first)),
      figureOf: (id) => (levelOf(withFigure, id) === 0 ? 0 : 1 + (mix(9, id) % FIGURES)),
      withFigure,
    };
    return { universe, selection, ranking, limit, matches: naiveMatches(selection, universe) };
  });

/** Returns the positions from which pages are read: the first pages, some in the middle, and the end. */
export function checkPoints(length: number, limit: number): number[] {
  const starts = [0, limit, 2 * limit, Math.floor(length / 3), Math.floor(length / 2), length - 2, length];
  return [...new Set(starts.filter((start) => start >= 0 && start <= length))];
}
