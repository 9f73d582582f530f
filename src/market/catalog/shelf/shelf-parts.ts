import type { Cursors } from '../../../platform/cursor.ts';
import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import type { Search } from '../text/text-index.ts';
import { aislesOf } from './aisles.ts';
import { didYouMean } from './did-you-mean.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';
import { toPosition, toWalk } from './position.ts';
import { reachOf } from './reach.ts';
import { type Walk, walkShelf } from './walk-shelf.ts';

export interface ShelfAsked {
  plan: ShelfPlan;
  /** What became of the plan's words; null where it has none. */
  search: Search | null;
  /** Where it goes on; null at the beginning. */
  walk: Walk | null;
}

/** Refuses a cursor that was not made for these filters. */
export function openWalk(cursors: Cursors, plan: ShelfPlan, cursor: string | undefined): Walk | null {
  return cursor === undefined ? null : toWalk(cursors.open(plan.key, cursor));
}

/** The page before was of a copy that knew more: going on with less, rows would come twice. */
export function isBehind(model: Model, { sort }: ShelfPlan, walk: Walk | null): boolean {
  return walk !== null && walk.reach > reachOf(model, sort, walk.key);
}

export interface ShelfPage {
  ids: number[];
  total: number;
  nextCursor: string | null;
}

/** Which listings are on a page, and how it goes on. */
export function shelfPage(model: Model, cursors: Cursors, { plan, search, walk }: ShelfAsked): ShelfPage {
  const matches = selectShelf(model, plan, search);
  const total = countShelf(model, plan, matches);
  if (matches === null) return { ids: [], total, nextCursor: null };
  const { ids, next } = walkShelf({ model, plan, matches, scored: search?.scored ?? [], total, walk });
  return { ids, total, nextCursor: next && cursors.seal(plan.key, toPosition(next)) };
}

/** One page of the shelves, with its listings named and not yet written. */
export function shelfParts(model: Model, cursors: Cursors, asked: ShelfAsked): PageParts {
  const { plan, walk } = asked;
  const { ids, total, nextCursor } = shelfPage(model, cursors, asked);
  const rest = {
    total,
    returned: ids.length,
    page_size: plan.limit,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
    did_you_mean: total === 0 && walk === null ? didYouMean(model, plan) : null,
  };
  const suffix = Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
  return { prefix: aislesOf(model).prefix, ids, suffix, outline: plan.outline };
}
