import { bestMatches, type Scored } from '../../src/market/catalog/sets/best-matches.ts';
import { markMatches } from '../../src/market/catalog/sets/matches.ts';
import { createPosting, forEachMember, type Posting, setLevel } from '../../src/market/catalog/sets/posting.ts';
import { parseQuery } from '../../src/market/catalog/text/parse-query.ts';
import { type Resolution, requireAll } from '../../src/market/catalog/text/resolve-query.ts';
import { LEVEL_GAINS } from '../../src/market/catalog/text/term-levels.ts';
import type { Search, TextIndex } from '../../src/market/catalog/text/text-index.ts';

export type Match = 'any' | 'all';

export function resolutionOf(index: TextIndex, q: string, match: Match = 'any'): Resolution {
  const query = parseQuery(q);
  return match === 'all' ? requireAll(query) : index.resolve(query, null);
}

export function compileNow(index: TextIndex, resolution: Resolution): Search {
  const search = index.compile(resolution);
  if (search === null) throw new Error(`${resolution.query.key} is not prepared`);
  return search;
}

/** Returns all matches by rank, with equal sales. `live` are the ids of the listings in the index. */
export function rankedMatches(
  { must, mustNot, wanted, scored, titled, matchesNothing }: Search,
  live: Iterable<number>,
): Scored[] {
  if (matchesNothing) return [];
  const all = createPosting();
  for (const id of live) setLevel(all, id, 1);
  const matches = markMatches({
    must: must.length + wanted.length === 0 ? [all] : must,
    mustNot,
    tests: [],
    wanted,
    least: must.length + wanted.length === 0 || must.length > 0 ? 0 : 1,
  });
  const ranking = { scored, gains: LEVEL_GAINS, first: titled, figureOf: () => 0, withFigure: createPosting() };
  return bestMatches(matches, ranking, null, Math.max(1, all.count));
}

export function members(posting: Posting): [number, number][] {
  const found: [number, number][] = [];
  forEachMember(posting, (id, level) => found.push([id, level]));
  return found;
}

/** Returns everything an index says about a query, in comparable form. */
export function answerOf(index: TextIndex, resolution: Resolution): unknown {
  const search = index.compile(resolution);
  if (search === null) return 'missing';
  return {
    ...search,
    must: search.must.map(members),
    mustNot: search.mustNot.map(members),
    wanted: search.wanted.map((sets) => sets.map(members)),
    scored: search.scored.map(({ posting, ...one }) => ({ ...one, members: members(posting) })),
    titled: [...search.titled].sort((a, b) => a - b),
  };
}
