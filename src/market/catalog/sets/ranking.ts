/**
 * The best of many candidates: higher rank first, equal ranks newest id first. A heap with the worst on top, so that a candidate
 * that does not belong is refused with one comparison.
 */
export interface Ranking {
  readonly limit: number;
  size: number;
  readonly ranks: Float64Array;
  readonly ids: Uint32Array;
}

/** A page and the row behind it. */
const USUAL_LIMIT = 51;
// One at a time is worked with; memory of its own for each would cost more than ranking a page.
const RANKS = new Float64Array(USUAL_LIMIT);
const IDS = new Uint32Array(USUAL_LIMIT);

export function createRanking(limit: number): Ranking {
  if (limit <= USUAL_LIMIT) return { limit, size: 0, ranks: RANKS, ids: IDS };
  return { limit, size: 0, ranks: new Float64Array(limit), ids: new Uint32Array(limit) };
}

/** What a newer candidate has to reach, -Infinity while there is room. */
export function worstRank(ranking: Ranking): number {
  return ranking.size < ranking.limit ? Number.NEGATIVE_INFINITY : (ranking.ranks[0] as number);
}

export function offer(ranking: Ranking, rank: number, id: number): void {
  const { ranks, ids, limit } = ranking;
  if (ranking.size < limit) {
    rise(ranking, ranking.size, rank, id);
    ranking.size += 1;
    return;
  }
  if (limit === 0) return;
  const worst = ranks[0] as number;
  if (rank < worst || (rank === worst && id < (ids[0] as number))) return;
  sink(ranking, limit, rank, id);
}

/** Ids, best first. Empties the ranking; `ranks` holds the ranks in the same order afterwards. */
export function drain(ranking: Ranking): number[] {
  const { ranks, ids } = ranking;
  const count = ranking.size;
  for (let last = count - 1; last > 0; last -= 1) {
    const rank = ranks[0] as number;
    const id = ids[0] as number;
    sink(ranking, last, ranks[last] as number, ids[last] as number);
    ranks[last] = rank;
    ids[last] = id;
  }
  ranking.size = 0;
  const best = new Array<number>(count);
  for (let at = 0; at < count; at += 1) best[at] = ids[at] as number;
  return best;
}

function rise({ ranks, ids }: Ranking, from: number, rank: number, id: number): void {
  let at = from;
  while (at > 0) {
    const above = (at - 1) >>> 1;
    const aboveRank = ranks[above] as number;
    if (aboveRank < rank || (aboveRank === rank && (ids[above] as number) < id)) break;
    ranks[at] = aboveRank;
    ids[at] = ids[above] as number;
    at = above;
  }
  ranks[at] = rank;
  ids[at] = id;
}

/** Puts a candidate in the place of the one on top of the first `size`. */
function sink({ ranks, ids }: Ranking, size: number, rank: number, id: number): void {
  let at = 0;
  for (;;) {
    let below = at * 2 + 1;
    if (below >= size) break;
    const right = below + 1;
    if (right < size) {
      const difference = (ranks[right] as number) - (ranks[below] as number);
      if (difference < 0 || (difference === 0 && (ids[right] as number) < (ids[below] as number))) below = right;
    }
    const belowRank = ranks[below] as number;
    if (belowRank > rank || (belowRank === rank && (ids[below] as number) > id)) break;
    ranks[at] = belowRank;
    ids[at] = ids[below] as number;
    at = below;
  }
  ranks[at] = rank;
  ids[at] = id;
}
