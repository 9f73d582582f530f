import { bestInBlocks } from './best-in-blocks.ts';
import { bestInList } from './best-in-list.ts';
import { createBlockMask, loadBlock } from './block-mask.ts';
import { nextBatch, openCandidates } from './candidates.ts';
import { countBits } from './count-bits.ts';
import { gatherInOrder } from './gather-in-order.ts';
import { createRanking, drain } from './ranking.ts';
import { type Selection, smallestOf, type Weighted } from './selection.ts';
import type { SortedIds } from './sorted-ids.ts';
import { walkInOrder } from './walk-in-order.ts';

export type { Selection, Weighted } from './selection.ts';

export function countMatches(selection: Selection): number {
  const { must, mustNot, tests } = selection;
  const smallest = smallestOf(must);
  const [excluded] = mustNot;
  if (tests.length === 0) {
    if (must.length === 1 && excluded === undefined) return smallest.count;
    if (must.length === 1 && mustNot.length === 1 && excluded !== undefined && excluded.count < smallest.count) {
      return smallest.count - countMatches({ must: [smallest, excluded], mustNot: [], tests });
    }
    if (smallest.dense !== null) return countInBlocks(selection);
  }
  const candidates = openCandidates(selection, [], Number.POSITIVE_INFINITY);
  let total = 0;
  for (let count = nextBatch(candidates); count > 0; count = nextBatch(candidates)) total += count;
  return total;
}

function countInBlocks(selection: Selection): number {
  const mask = createBlockMask(selection);
  let total = 0;
  for (let block = mask.blocks - 1; block >= 0; block -= 1) {
    if (loadBlock(mask, block)) total += countBits(mask.words);
  }
  return total;
}

/** Newest first, of those below an id. */
export function newestMatches(selection: Selection, below: number, limit: number): number[] {
  const found: number[] = [];
  const candidates = openCandidates(selection, [], below);
  while (found.length < limit) {
    const count = nextBatch(candidates);
    if (count === 0) break;
    const taken = Math.min(count, limit - found.length);
    for (let at = 0; at < taken; at += 1) found.push(candidates.ids[at] as number);
  }
  return found;
}

/** In the order of a key, beginning after a point. Every id of the selection must be in the order. */
export function matchesInOrder(
  selection: Selection,
  order: SortedIds,
  after: { key: number; id: number } | null,
  limit: number,
): number[] {
  if (limit <= 0) return [];
  return walkInOrder(selection, order, after, limit) ?? gatherInOrder(selection, order, after, limit);
}

/** By score, equal scores newest first, beginning after a point. Scores are sums of weight times level. */
export function bestMatches(
  selection: Selection,
  scored: readonly Weighted[],
  after: { score: number; id: number } | null,
  limit: number,
): { id: number; score: number }[] {
  if (limit <= 0) return [];
  const ranking = createRanking(limit);
  if (smallestOf(selection.must).dense === null) bestInList(selection, scored, after, ranking);
  else bestInBlocks(selection, scored, after, ranking);
  return drain(ranking).map((id, at) => ({ id, score: ranking.ranks[at] as number }));
}
