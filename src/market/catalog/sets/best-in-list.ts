import { nextBatch, openCandidates } from './candidates.ts';
import { countAtLevel, type Posting } from './posting.ts';
import { offer, type Ranking, worstRank } from './ranking.ts';
import type { Selection, Weighted } from './selection.ts';

/** The highest level that any member has, 0 in an empty set. */
export function highestLevel(posting: Posting): number {
  let level = posting.count === 0 ? 0 : 7;
  while (level > 0 && countAtLevel(posting, level) === 0) level -= 1;
  return level;
}

/** For selections whose smallest set is a list: scores its members one by one. */
export function bestInList(
  selection: Selection,
  scored: readonly Weighted[],
  after: { score: number; id: number } | null,
  ranking: Ranking,
): void {
  const candidates = openCandidates(selection, scored, Number.POSITIVE_INFINITY);
  const { driver, driverWeight, ids, scores } = candidates;
  let others = 0;
  for (const { posting, weight } of scored) {
    if (posting !== driver) others += weight * highestLevel(posting);
  }
  const afterScore = after === null ? Number.POSITIVE_INFINITY : after.score;
  const afterId = after === null ? 0 : after.id;
  let worst = worstRank(ranking);
  for (let count = nextBatch(candidates); count > 0; count = nextBatch(candidates)) {
    for (let at = 0; at < count; at += 1) {
      const score = scores[at] as number;
      const id = ids[at] as number;
      // Candidates come newest first, so one that is no better than the worst is behind it.
      if (score <= worst || score > afterScore || (score === afterScore && id >= afterId)) continue;
      offer(ranking, score, id);
      worst = worstRank(ranking);
    }
    if (worst >= afterScore || worst >= others + 7 * driverWeight) return;
    if (driverWeight > 0) candidates.lowestLevel = Math.max(1, Math.floor((worst - others) / driverWeight) + 1);
  }
}
