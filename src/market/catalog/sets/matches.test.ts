import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkPoints,
  createOrder,
  createSet,
  naiveMatches,
  situation,
  termsOf,
} from '../../../../test/catalog/random-sets.ts';
import {
  countMatches,
  hasMatchWith,
  isMatch,
  keepBestCovered,
  markMatches,
  matchesInOrder,
  newestMatches,
} from './matches.ts';
import { createPosting } from './posting.ts';

const nothingElse = { mustNot: [], tests: [], wanted: [], least: 0 };

describe('a selection', () => {
  it('is counted exactly', () => {
    fc.assert(
      fc.property(situation, ({ selection, matches }) => {
        expect(countMatches(markMatches(selection))).toBe(matches.length);
      }),
      { numRuns: 200 },
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

  it('says which numbers of wanted terms its matches have, and keeps those with the most', () => {
    fc.assert(
      fc.property(situation, ({ selection, matches, universe }) => {
        const { wanted } = selection;
        const counts = new Map(matches.map((id) => [id, termsOf(wanted, id)]));
        const marked = markMatches(selection);
        for (let count = 1; count <= wanted.length; count += 1) {
          expect(hasMatchWith(marked, count)).toBe([...counts.values()].includes(count));
        }
        const most = Math.max(0, ...counts.values());
        const expected = wanted.length === 0 ? matches : matches.filter((id) => counts.get(id) === most);
        const best = keepBestCovered(marked);
        expect(best.least).toBe(most);
        expect(countMatches(best.matches)).toBe(expected.length);
        expect(newestMatches(best.matches, Number.POSITIVE_INFINITY, universe)).toEqual(expected);
        // A later page starts from that number of terms.
        const again = markMatches({ ...selection, least: Math.max(selection.least, most) });
        if (most > 0) expect(newestMatches(again, Number.POSITIVE_INFINITY, universe)).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });

  it('needs a set to choose from', () => {
    expect(() => markMatches({ must: [], ...nothingElse })).toThrow();
    expect(() => markMatches({ must: [], ...nothingElse, wanted: [[createPosting()]] })).toThrow();
  });

  it('comes in the order of a key where the matches are few, and all at its end', () => {
    const universe = 60_000;
    const order = createOrder(universe, 1000, 'descending');
    for (const [share, start, end] of [
      [0.0005, 0, 1],
      [0.012, 0, 1],
      [1, 0, 0.02],
    ] as const) {
      const selection = { ...nothingElse, must: [createSet({ seed: 3, share, start, end, levels: 1 }, universe)] };
      const sorted = naiveMatches(selection, universe).sort((a, b) => order.keyOf(b) - order.keyOf(a) || b - a);
      const found = markMatches(selection);
      expect(matchesInOrder(found, order, null, 50)).toEqual(sorted.slice(0, 50));
      const [id = 0] = sorted.slice(9);
      expect(matchesInOrder(found, order, { id, key: order.keyOf(id) }, 10)).toEqual(sorted.slice(10, 20));
    }
  });
});
