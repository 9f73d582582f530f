import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bestMatches, type Weighted } from './best-matches.ts';
import { countMatches, isMatch, markMatches, matchesInOrder, newestMatches, type Selection } from './matches.ts';
import { createPosting, levelOf, type Posting, setLevel } from './posting.ts';
import { createSortedIds, fillSorted, type SortedIds } from './sorted-ids.ts';

/** Returns a pseudo-random number, the same in every run. */
function mix(seed: number, id: number): number {
  let value = Math.imul(seed ^ Math.imul(id, 0x9e3779b1), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

interface SetShape {
  seed: number;
  share: number;
  start: number;
  end: number;
  levels: number;
}

function createSet({ seed, share, start, end, levels }: SetShape, universe: number): Posting {
  const posting = createPosting();
  for (let id = Math.ceil(1 + start * universe); id <= end * universe; id += 1) {
    const chance = mix(seed, id);
    // Low levels are common and high ones rare, as with words.
    if (chance / 2 ** 32 < share) setLevel(posting, id, Math.min(levels, 1 + Math.clz32(mix(seed + 1, id))));
  }
  return posting;
}

function createOrder(universe: number, keys: number, direction: 'ascending' | 'descending'): SortedIds {
  const order = createSortedIds((id) => mix(5, id) % keys, direction);
  fillSorted(
    order,
    Uint32Array.from({ length: universe }, (_, at) => at + 1),
  );
  return order;
}

function naiveMatches({ must, mustNot, tests }: Selection, universe: number): number[] {
  const ids: number[] = [];
  for (let id = universe; id > 0; id -= 1) {
    if (!must.every((posting) => levelOf(posting, id) > 0)) continue;
    if (mustNot.some((posting) => levelOf(posting, id) > 0)) continue;
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
const TESTS = [(id: number): boolean => id % 3 !== 0, (id: number): boolean => id % 7 > 1];
const picks = (minLength: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 4 }), { minLength, maxLength });

const situation = fc
  .record({
    universe: fc.constantFrom(40, 700, 4096, 13_000),
    shapes: fc.array(shape, { minLength: 5, maxLength: 5 }),
    must: picks(1, 4),
    mustNot: picks(0, 3),
    tests: fc.constantFrom(0, 0, 1, 2),
    scored: fc.array(fc.record({ set: fc.integer({ min: 0, max: 4 }), weight: fc.integer({ min: 1, max: 40 }) }), {
      maxLength: 5,
    }),
    limit: fc.constantFrom(1, 3, 20, 51, 400),
  })
  .map(({ universe, shapes, must, mustNot, tests, scored, limit }) => {
    const sets = shapes.map((one) => createSet(one, universe));
    const at = (index: number): Posting => sets[index] ?? createPosting();
    const selection: Selection = { must: must.map(at), mustNot: mustNot.map(at), tests: TESTS.slice(0, tests) };
    const weighted: Weighted[] = scored.map(({ set, weight }) => ({ posting: at(set), weight }));
    return { universe, selection, scored: weighted, limit, matches: naiveMatches(selection, universe) };
  });

/** Returns the positions from which pages are read: the first pages, some in the middle, and the end. */
function checkPoints(length: number, limit: number): number[] {
  const starts = [0, limit, 2 * limit, Math.floor(length / 3), Math.floor(length / 2), length - 2, length];
  return [...new Set(starts.filter((start) => start >= 0 && start <= length))];
}

describe('a selection', () => {
  it('is counted exactly', () => {
    fc.assert(
      fc.property(situation, ({ selection, matches }) => {
        expect(countMatches(markMatches(selection))).toBe(matches.length);
      }),
      { numRuns: 150 },
    );
  });

  it('comes newest first from any place', () => {
    fc.assert(
      fc.property(situation, ({ selection, matches, limit, universe }) => {
        for (const start of checkPoints(matches.length, limit)) {
          const below = start === 0 ? Number.POSITIVE_INFINITY : (matches[start - 1] ?? 0);
          expect(newestMatches(markMatches(selection), below, limit)).toEqual(matches.slice(start, start + limit));
        }
        for (const below of [0, 1, 33, 4096, 4097, universe]) {
          const expected = matches.filter((id) => id < below).slice(0, limit);
          expect(newestMatches(markMatches(selection), below, limit)).toEqual(expected);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('comes in the order of a key from any place', () => {
    const orders = fc.record({
      keys: fc.constantFrom(1, 4, 1000, 1e9),
      direction: fc.constantFrom('ascending' as const, 'descending' as const),
    });
    fc.assert(
      fc.property(situation, orders, ({ selection, matches, limit, universe }, { keys, direction }) => {
        const order = createOrder(universe, keys, direction);
        const sign = direction === 'ascending' ? 1 : -1;
        const sorted = matches.toSorted((a, b) => sign * (order.keyOf(a) - order.keyOf(b)) || b - a);
        for (const start of checkPoints(sorted.length, limit)) {
          const id = sorted[start - 1];
          const after = id === undefined ? null : { id, key: order.keyOf(id) };
          const expected = sorted.slice(start, start + limit);
          expect(matchesInOrder(markMatches(selection), order, after, limit)).toEqual(expected);
        }
        const marked = markMatches(selection);
        const all = Array.from({ length: universe + 99 }, (_, at) => universe + 99 - at);
        expect(all.filter((id) => isMatch(marked, id))).toEqual(matches);
      }),
      { numRuns: 150 },
    );
  });

  it('comes by score from any place', () => {
    fc.assert(
      fc.property(situation, ({ selection, matches, scored, limit }) => {
        const sorted = matches
          .map((id) => ({
            id,
            score: scored.reduce((sum, { posting, weight }) => sum + weight * levelOf(posting, id), 0),
          }))
          .sort((a, b) => b.score - a.score || b.id - a.id);
        for (const start of checkPoints(sorted.length, limit)) {
          const expected = sorted.slice(start, start + limit);
          expect(bestMatches(markMatches(selection), scored, sorted[start - 1] ?? null, limit)).toEqual(expected);
        }
        // Continue from a position between two scores, whose row no longer exists.
        const score = (sorted[Math.floor(sorted.length / 2)]?.score ?? 0) + 0;
        const expected = sorted.filter((row) => row.score < score || (row.score === score && row.id < 300));
        expect(bestMatches(markMatches(selection), scored, { score, id: 300 }, limit)).toEqual(
          expected.slice(0, limit),
        );
      }),
      { numRuns: 250 },
    );
  });

  it('finds the best of a long list also where they are the oldest', () => {
    const list = createPosting();
    for (let id = 100_000; id > 0; id -= 100) setLevel(list, id, id < 1000 ? 6 : 2);
    expect(list.dense).toBeNull();
    const selection = { must: [list], mustNot: [], tests: [] };
    const scored = [{ posting: list, weight: 5 }];
    expect(bestMatches(markMatches(selection), scored, null, 2)).toEqual([900, 800].map((id) => ({ id, score: 30 })));
    expect(bestMatches(markMatches(selection), scored, { score: 30, id: 150 }, 2)).toEqual([
      { id: 100, score: 30 },
      { id: 100_000, score: 10 },
    ]);
  });

  it('needs a set to choose from', () => {
    expect(() => markMatches({ must: [], mustNot: [], tests: [] })).toThrow();
  });

  it('comes in the order of a key where the matches are few, and all at its end', () => {
    const universe = 60_000;
    const order = createOrder(universe, 1000, 'descending');
    for (const [share, start, end] of [
      [0.0005, 0, 1],
      [0.012, 0, 1],
      [1, 0, 0.02],
    ] as const) {
      const must = [createSet({ seed: 3, share, start, end, levels: 1 }, universe)];
      const matches = naiveMatches({ must, mustNot: [], tests: [] }, universe);
      const sorted = matches.toSorted((a, b) => order.keyOf(b) - order.keyOf(a) || b - a);
      const found = markMatches({ must, mustNot: [], tests: [] });
      expect(matchesInOrder(found, order, null, 50)).toEqual(sorted.slice(0, 50));
      const [id = 0] = sorted.slice(9);
      expect(matchesInOrder(found, order, { id, key: order.keyOf(id) }, 10)).toEqual(sorted.slice(10, 20));
    }
  });
});
