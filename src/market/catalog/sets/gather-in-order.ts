import { nextBatch, openCandidates } from './candidates.ts';
import { createRanking, drain, offer, worstRank } from './ranking.ts';
import type { Selection } from './selection.ts';
import type { SortedIds } from './sorted-ids.ts';

/** Looks at every match and keeps the first ones of the order: quick where matches are few. */
export function gatherInOrder(
  selection: Selection,
  order: SortedIds,
  after: { key: number; id: number } | null,
  limit: number,
): number[] {
  const ranking = createRanking(limit);
  const sign = order.descending ? 1 : -1;
  const { keyOf } = order;
  const afterRank = after === null ? Number.POSITIVE_INFINITY : after.key * sign;
  const afterId = after === null ? 0 : after.id;
  const candidates = openCandidates(selection, [], Number.POSITIVE_INFINITY);
  let worst = worstRank(ranking);
  for (let count = nextBatch(candidates); count > 0; count = nextBatch(candidates)) {
    for (let at = 0; at < count; at += 1) {
      const id = candidates.ids[at] as number;
      const rank = keyOf(id) * sign;
      // Candidates come newest first, so one that is no better than the worst is behind it.
      if (rank <= worst || rank > afterRank || (rank === afterRank && id >= afterId)) continue;
      offer(ranking, rank, id);
      worst = worstRank(ranking);
    }
  }
  return drain(ranking);
}
