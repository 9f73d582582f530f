import type { Sort } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';
import { isRising, SORT_RULES } from '../model/sorts.ts';
import { sumFrom } from '../model/value-sums.ts';

/** Whether the pinned come first. */
export function leadsPinned(sort: Sort): boolean {
  return SORT_RULES[sort].leadsPinned;
}

/**
 * How far this copy has come in what moves rows within that order before a place in it, as a number that every such change raises. By
 * votes it counts those on listings that have as many as the row at that place or more, which are all that was shown up to there. What
 * two copies have seen is never more on one side and less on the other, so the lower number is that of the copy that is behind.
 */
export function reachOf(model: Model, sort: Sort, key: number): number {
  if (sort === 'relevance') return model.editAct;
  const act = leadsPinned(sort) ? model.pinAct : 0;
  return isRising(sort) ? act + sumFrom(model.sums[sort], key) : act;
}
