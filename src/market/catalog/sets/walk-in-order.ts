import { markMatches } from './mark-matches.ts';
import { levelOf, type Posting } from './posting.ts';
import { reaches } from './posting-dense.ts';
import { passes, type Selection, smallestOf } from './selection.ts';
import { blockOf, placeIn, positionAfter, type SortedIds } from './sorted-ids.ts';

/** Rough costs in nanoseconds; only their relation matters, and only near the point where two ways are as quick. */
const COST = {
  /** Asking planes, a list, or the one plane of marks about the next id of the order. */
  stepPlanes: 9,
  stepList: 45,
  stepMarks: 3.5,
  /** Taking an entry from a list, holding it against another set, joining a word of planes. */
  take: 1.5,
  hold: 6,
  word: 0.7,
  /** Marking a match from a list; clearing a word of marks. */
  mark: 1,
  clear: 0.1,
  /** Looking for bits in a word; reading the key of a match, which lies somewhere in memory. */
  look: 1.2,
  rank: 18,
};

/**
 * Follows the order and keeps what is in the selection: quick where matches are dense. Returns null where gathering all matches is
 * cheaper, by estimate or because the estimate was wrong: keys may have to do with the sets.
 */
export function walkInOrder(
  selection: Selection,
  order: SortedIds,
  after: { key: number; id: number } | null,
  limit: number,
): number[] | null {
  const smallest = smallestOf(selection.must);
  const matches = expected(selection, smallest, order.count);
  const steps = Math.min(order.count, (limit * order.count) / Math.max(1, matches));
  const scanNs = costOfScan(selection, smallest);
  const words = smallest.dense === null ? 0 : smallest.dense.member.length;
  const gatherNs = scanNs + words * COST.look + matches * COST.rank;
  const stepNs = smallest.dense === null ? COST.stepList : COST.stepPlanes;
  const asideNs = steps * stepNs;
  const setNs = words === 0 ? matches * COST.mark : 0;
  const markNs = scanNs + setNs + (order.count / 32) * COST.clear + steps * COST.stepMarks;
  if (gatherNs < asideNs && gatherNs < markNs) return null;
  // The longest that a walk may go on without success, so that a wrong estimate costs no more than a few times the right one.
  const mostNs = (gatherNs + Math.min(asideNs, markNs)) * 2;
  if (asideNs <= markNs) return walkWithin(selection, order, after, { limit, steps: mostNs / stepNs });
  const marked: Marked = { marks: markMatches(selection), tests: selection.tests };
  return walkMarked(marked, order, after, { limit, steps: mostNs / COST.stepMarks });
}

/** Matches, if the sets had nothing to do with each other. */
function expected({ must, mustNot }: Selection, smallest: Posting, universe: number): number {
  let share = smallest.count;
  for (const posting of must) {
    if (posting !== smallest) share *= Math.min(1, posting.count / universe);
  }
  for (const posting of mustNot) share *= 1 - Math.min(1, posting.count / universe);
  return share;
}

function costOfScan({ must, mustNot }: Selection, { dense, count }: Posting): number {
  const others = must.length + mustNot.length - 1;
  if (dense === null) return count * (COST.take + others * COST.hold);
  return dense.member.length * COST.word * (others + 1);
}

interface Bounds {
  readonly limit: number;
  readonly steps: number;
}

function walkWithin(
  selection: Selection,
  order: SortedIds,
  after: { key: number; id: number } | null,
  { limit, steps }: Bounds,
): number[] | null {
  const smallest = smallestOf(selection.must);
  const must = [smallest, ...selection.must.filter((posting) => posting !== smallest)];
  const { mustNot, tests } = selection;
  const found: number[] = [];
  const position = positionAfter(order, after);
  let place = placeIn(position);
  let left = steps;
  for (let at = blockOf(position); at < order.blocks.length; at += 1) {
    const block = order.blocks[at] as Uint32Array;
    const size = order.sizes[at] as number;
    if (left <= 0) return null;
    left -= size - place;
    for (; place < size; place += 1) {
      const id = block[place] as number;
      if (!isInAll(must, id) || isInAny(mustNot, id) || !passes(tests, id)) continue;
      found.push(id);
      if (found.length === limit) return found;
    }
    place = 0;
  }
  return found;
}

interface Marked {
  readonly marks: Uint32Array;
  readonly tests: Selection['tests'];
}

function walkMarked(
  { marks, tests }: Marked,
  order: SortedIds,
  after: { key: number; id: number } | null,
  { limit, steps }: Bounds,
): number[] | null {
  const found: number[] = [];
  const end = marks.length * 32;
  const position = positionAfter(order, after);
  let place = placeIn(position);
  let left = steps;
  for (let at = blockOf(position); at < order.blocks.length; at += 1) {
    const block = order.blocks[at] as Uint32Array;
    const size = order.sizes[at] as number;
    if (left <= 0) return null;
    left -= size - place;
    for (; place < size; place += 1) {
      const id = block[place] as number;
      if (id >= end || (((marks[id >>> 5] as number) >>> (id & 31)) & 1) === 0 || !passes(tests, id)) continue;
      found.push(id);
      if (found.length === limit) return found;
    }
    place = 0;
  }
  return found;
}

function isIn(posting: Posting, id: number): boolean {
  const { dense } = posting;
  if (dense === null) return levelOf(posting, id) !== 0;
  return reaches(dense, id) && (((dense.member[id >>> 5] as number) >>> (id & 31)) & 1) === 1;
}

function isInAll(must: readonly Posting[], id: number): boolean {
  for (let at = 0; at < must.length; at += 1) {
    if (!isIn(must[at] as Posting, id)) return false;
  }
  return true;
}

function isInAny(mustNot: readonly Posting[], id: number): boolean {
  for (let at = 0; at < mustNot.length; at += 1) {
    if (isIn(mustNot[at] as Posting, id)) return true;
  }
  return false;
}
