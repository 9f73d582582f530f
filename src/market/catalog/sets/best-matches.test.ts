import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPoints, createSet, mix, type Situation, situation } from '../../../../test/catalog/random-sets.ts';
import { bestMatches, type Ranking, type Scored } from './best-matches.ts';
import { markMatches, type Selection } from './matches.ts';
import { createPosting, levelOf, type Posting, setLevel } from './posting.ts';

const FIGURES = 16;
/** More than any score, so that an exact title beats every other match. */
const FIRST = 2 ** 19;

function keyOf({ scored, gains, first, figureOf }: Ranking, id: number): number {
  const score = scored.reduce((sum, { posting, weight }) => sum + weight * (gains[levelOf(posting, id)] ?? 0), 0);
  return (first.has(id) ? FIRST : score) * FIGURES + figureOf(id);
}

function rankNaively({ matches, ranking }: Pick<Situation, 'matches' | 'ranking'>): Scored[] {
  return matches.map((id) => ({ id, key: keyOf(ranking, id) })).sort((a, b) => b.key - a.key || b.id - a.id);
}

function comesAfter(row: Scored, point: Scored): boolean {
  return row.key < point.key || (row.key === point.key && row.id < point.id);
}

const nothingElse = { mustNot: [], tests: [], wanted: [], least: 0 };
const unfigured = { gains: [0, 1, 2, 3, 4, 5, 6, 7], first: new Set<number>(), figureOf: () => 0 };

function listOf(levels: Iterable<readonly [id: number, level: number]>): Posting {
  const posting = createPosting();
  for (const [id, level] of levels) setLevel(posting, id, level);
  return posting;
}

describe('matches by rank', () => {
  it('come with exact keys from any place', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { selection, ranking, limit } = given;
        const sorted = rankNaively(given);
        for (const start of checkPoints(sorted.length, limit)) {
          const found = bestMatches(markMatches(selection), ranking, sorted[start - 1] ?? null, limit);
          expect(found).toEqual(sorted.slice(start, start + limit));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('go on from a place between two of them, whose row no longer exists', () => {
    const shift = fc.record({ key: fc.integer({ min: -20, max: 20 }), id: fc.integer({ min: 1, max: 14_000 }) });
    fc.assert(
      fc.property(situation, fc.nat(), shift, (given, place, { key, id }) => {
        const { selection, ranking, limit } = given;
        const sorted = rankNaively(given);
        const near = sorted[place % Math.max(1, sorted.length)]?.key ?? 0;
        for (const point of [
          { key: Math.max(0, near + key), id },
          { key: near, id },
        ]) {
          const expected = sorted.filter((row) => comesAfter(row, point)).slice(0, limit);
          expect(bestMatches(markMatches(selection), ranking, point, limit)).toEqual(expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('come page by page, each exactly once', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { selection, ranking } = given;
        const limit = Math.max(given.limit, Math.ceil(given.matches.length / 12));
        const walked: Scored[] = [];
        for (let after: Scored | null = null; ; after = walked.at(-1) ?? null) {
          const page = bestMatches(markMatches(selection), ranking, after, limit);
          walked.push(...page);
          if (page.length < limit) break;
        }
        expect(walked).toEqual(rankNaively(given));
      }),
      { numRuns: 100 },
    );
  });

  it('are right where many of a large market tie in all but one thing', () => {
    const universe = 70_000;
    const terms = [0.9, 0.6, 0.3, 0.05, 0.001].map((share, at) =>
      createSet({ seed: 40 + at, share, start: 0, end: 1, levels: at % 2 === 0 ? 1 : 7 }, universe),
    );
    for (const figures of [0, 0.0004, 0.3]) {
      const withFigure = createSet({ seed: 8, share: figures, start: 0, end: 1, levels: 1 }, universe);
      const ranking: Ranking = {
        scored: terms.map((posting, at) => ({ posting, weight: 1 + at * 9, isExtra: at === 3 })),
        gains: unfigured.gains,
        first: new Set([5, 69_999]),
        figureOf: (id) => (levelOf(withFigure, id) === 0 ? 0 : 1 + (mix(4, id) % 15)),
        withFigure,
      };
      const [one, two, three, extra, rare] = terms as [Posting, Posting, Posting, Posting, Posting];
      const wanted = [[one], [two, extra], [three], [rare]];
      const selection: Selection = { ...nothingElse, must: [], wanted, least: 1 };
      const hasTerm = (id: number): boolean => terms.some((posting) => levelOf(posting, id) > 0);
      const ids = Array.from({ length: universe }, (_, at) => universe - at).filter(hasTerm);
      const sorted = rankNaively({ matches: ids, ranking });
      for (const start of [0, 50, 1_000, 30_000, sorted.length - 30]) {
        const found = bestMatches(markMatches(selection), ranking, sorted[start - 1] ?? null, 50);
        expect(found).toEqual(sorted.slice(start, start + 50));
      }
    }
  });

  it('are the best of a long list also where they are the oldest', () => {
    const list = listOf(Array.from({ length: 1_000 }, (_, at) => [(at + 1) * 100, at < 9 ? 6 : 2] as const));
    expect(list.dense).toBeNull();
    const selection = { ...nothingElse, must: [list] };
    const ranking = {
      ...unfigured,
      scored: [{ posting: list, weight: 5, isExtra: false }],
      withFigure: createPosting(),
    };
    const find = (after: Scored | null): Scored[] => bestMatches(markMatches(selection), ranking, after, 2);
    expect(find(null)).toEqual([900, 800].map((id) => ({ id, key: 30 * FIGURES })));
    expect(find({ key: 30 * FIGURES, id: 150 })).toEqual([
      { id: 100, key: 30 * FIGURES },
      { id: 100_000, key: 10 * FIGURES },
    ]);
  });

  it('lead with exact titles, then the score, then the figure, then the newest', () => {
    const word = listOf([1, 2, 3, 4, 5, 6].map((id) => [id, id === 3 ? 7 : 1] as const));
    const figures = new Map([
      [2, 9],
      [5, 3],
    ]);
    const ranking: Ranking = {
      ...unfigured,
      scored: [{ posting: word, weight: 1, isExtra: false }],
      // An exact title that another filter leaves out stays out.
      first: new Set([1, 8]),
      figureOf: (id) => figures.get(id) ?? 0,
      withFigure: listOf([...figures.keys()].map((id) => [id, 1] as const)),
    };
    const selection = { ...nothingElse, must: [word], tests: [(id: number) => id !== 6] };
    expect(bestMatches(markMatches(selection), ranking, null, 9).map(({ id }) => id)).toEqual([1, 3, 2, 5, 4]);
    const [first = null] = bestMatches(markMatches(selection), ranking, null, 1);
    expect(bestMatches(markMatches(selection), ranking, first, 2).map(({ id }) => id)).toEqual([3, 2]);
  });

  it('stay exact with the highest id, weights and gains', () => {
    const newest = 2 ** 29 - 1;
    const sets = Array.from({ length: 8 }, () =>
      listOf([
        [1, 7],
        [newest - 1, 7],
        [newest, 7],
      ] as const),
    );
    const ranking: Ranking = {
      gains: [0, 6, 9, 11, 14, 16, 18, 20],
      scored: sets.map((posting) => ({ posting, weight: 511, isExtra: false })),
      first: new Set([1]),
      figureOf: () => 15,
      withFigure: listOf([
        [1, 1],
        [newest - 1, 1],
        [newest, 1],
      ] as const),
    };
    const key = 8 * 511 * 20 * FIGURES + 15;
    const selection = { ...nothingElse, must: sets.slice(0, 1), wanted: sets.map((one) => [one]), least: 8 };
    expect(bestMatches(markMatches(selection), ranking, null, 3)).toEqual([
      { id: 1, key: FIRST * FIGURES + 15 },
      { id: newest, key },
      { id: newest - 1, key },
    ]);
  });
});
