/** Result of one query: the first place with a right item, from 1, and how many items were returned. */
export interface Found {
  right: number | null;
  /** First place with the very item that the need is about. Null if there is none in the results. */
  best: number | null;
  results: number;
}

/** Shares of all needs, except `best_10`, which is a share of the needs that name a best item (null if none does). */
export interface NeedScores {
  recall_10: number;
  recall_3: number;
  mrr_10: number;
  best_10: number | null;
  none: number;
}

export interface TitleScores {
  first: number;
  in_ten: number;
  none: number;
}

/** Finds places of ids in results. */
export function findPlaces(results: readonly number[], right: ReadonlySet<number>, best: ReadonlySet<number>): Found {
  const placeOf = (wanted: ReadonlySet<number>): number | null => {
    const at = results.findIndex((id) => wanted.has(id));
    return at < 0 ? null : at + 1;
  };
  return { right: placeOf(right), best: placeOf(best), results: results.length };
}

/** `withBest` counts the needs that name a best item. */
export function scoreNeeds(found: readonly Found[], withBest: number): NeedScores {
  const share = (count: number): number => count / Math.max(1, found.length);
  return {
    recall_10: share(found.filter(({ right }) => right !== null).length),
    recall_3: share(found.filter(({ right }) => right !== null && right <= 3).length),
    mrr_10: share(found.reduce((sum, { right }) => sum + (right === null ? 0 : 1 / right), 0)),
    best_10: withBest === 0 ? null : found.filter(({ best }) => best !== null).length / withBest,
    none: share(found.filter(({ results }) => results === 0).length),
  };
}

/** Counts queries, because titles are few and the same for all engines. */
export function scoreTitles(found: readonly Found[]): TitleScores {
  return {
    first: found.filter(({ right }) => right === 1).length,
    in_ten: found.filter(({ right }) => right !== null).length,
    none: found.filter(({ results }) => results === 0).length,
  };
}
