import type { Cursors } from '../../../platform/cursor.ts';
import type { Model } from '../model/model.ts';
import type { WatchedParts } from '../serve/kept-answers.ts';
import type { Search } from '../text/text-index.ts';
import { aislesOf } from './aisles.ts';
import { didYouMean } from './did-you-mean.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';
import { toPosition, toWalk } from './position.ts';
import { reachOf } from './reach.ts';
import { compareShelf, type ShownShelf } from './same-shelf.ts';
import { standing, type Walk, walkShelf } from './walk-shelf.ts';

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
  next: Walk | null;
  nextCursor: string | null;
  /** By which a walk that begins here ranks. */
  weights: readonly number[];
}

/** Which listings are on a page, and how it goes on. */
export function shelfPage(model: Model, cursors: Cursors, { plan, search, walk }: ShelfAsked): ShelfPage {
  const selection = selectShelf(model, plan, search);
  const total = countShelf(model, plan, selection);
  if (selection === null) return { ids: [], total, next: null, nextCursor: null, weights: [] };
  const scored = search?.scored ?? [];
  const { ids, next } = walkShelf({ model, plan, selection, scored, total, walk });
  const nextCursor = next && cursors.seal(plan.key, toPosition(next));
  return { ids, total, next, nextCursor, weights: scored.map(({ weight }) => weight) };
}

/** One page of the shelves, with its listings named and not yet written. */
export function shelfParts(model: Model, cursors: Cursors, asked: ShelfAsked): WatchedParts {
  const { ids, total, next, nextCursor, weights } = shelfPage(model, cursors, asked);
  const { plan, walk } = asked;
  const isFirst = walk === null;
  const meant = total === 0 && isFirst ? didYouMean(model, plan) : null;
  const shown = { plan, isFirst, ids, total, next, weights, pinAct: model.pinAct };
  return watch(model, cursors, shown, suffixOf(shown, nextCursor, meant));
}

function suffixOf({ total, ids, plan }: ShownShelf, nextCursor: string | null, meant: string | null): Buffer {
  const rest = {
    total,
    returned: ids.length,
    page_size: plan.limit,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
    did_you_mean: meant,
  };
  const text = `],${JSON.stringify(rest).slice(1)}`;
  // Memory of its own: a piece of the runtime's pool would keep all of that piece, 64 KiB, for as long as the page is kept.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

function watch(model: Model, cursors: Cursors, shown: ShownShelf, suffix: Buffer): WatchedParts {
  const { ids, plan } = shown;
  let parts: WatchedParts = {
    prefix: aislesOf(model).prefix,
    ids,
    suffix,
    outline: plan.outline,
    still: (now, since) => {
      const sameness = compareShelf(now, shown, since);
      if (sameness === 'nothing') return null;
      if (sameness === 'listings') return closeAnew(now, cursors, shown);
      const { prefix } = aislesOf(now);
      if (prefix !== parts.prefix) parts = { ...parts, prefix };
      return parts;
    },
  };
  return parts;
}

/** The same listings; how many there are, and the place of the walk, as it would be said now. */
function closeAnew(model: Model, cursors: Cursors, shown: ShownShelf): WatchedParts | null {
  const { next, plan, ids } = shown;
  if (next === null) return null;
  if (!shown.isFirst) {
    const now = { ...next, reach: reachOf(model, plan.sort, next.key) };
    return close(model, cursors, { ...shown, next: now });
  }
  const search = plan.words && model.text.compile(plan.words);
  if (plan.words !== null && search === null) return null;
  const selection = selectShelf(model, plan, search);
  const total = countShelf(model, plan, selection);
  if (selection === null || total <= ids.length) return null;
  const course = { model, plan, selection, scored: search?.scored ?? [], total, walk: null };
  const { pinAct } = model;
  return close(model, cursors, { ...shown, total, pinAct, next: standing(course, next, total - ids.length) });
}

function close(model: Model, cursors: Cursors, shown: ShownShelf & { next: Walk }): WatchedParts {
  const nextCursor = cursors.seal(shown.plan.key, toPosition(shown.next));
  return watch(model, cursors, shown, suffixOf(shown, nextCursor, null));
}
