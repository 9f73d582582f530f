import type { Sort } from '../../../contract/vocabulary.ts';
import type { Figure } from '../model/columns.ts';
import { LIVE, type Model } from '../model/model.ts';
import { CHANGE, countSince, hadTag, hasTag, mayMatch, slotOf } from '../model/recent-changes.ts';
import { isKeySort, isRising, SORT_RULES } from '../model/sorts.ts';
import { levelOf } from '../sets/posting.ts';
import type { Selection, Weighted } from '../sets/select.ts';
import { isMatch } from '../sets/selection.ts';
import { type Needed, neededFor } from '../text/stem-signature.ts';
import type { Search } from '../text/text-index.ts';
import { pinnedAsOf, pinsMovedSince } from './known-pins.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';
import { leadsPinned, reachOf } from './reach.ts';
import type { Walk } from './walk-shelf.ts';

/** What a page of the shelves came of, without the counts around it. */
export interface ShownShelf {
  plan: ShelfPlan;
  /** Not asked for with a cursor. */
  isFirst: boolean;
  ids: readonly number[];
  total: number;
  next: Walk | null;
  /** Up to which pins are as it shows them, if it is the first. */
  pinAct: number;
  /** By which it is ranked, if it is the first. */
  weights: readonly number[];
}

/** 'listings': these are the same in the same order; total and cursor may be others. */
export type Sameness = 'all' | 'listings' | 'nothing';

/**
 * How much of a page would be the same if it were made again. Where none of the listings that changed since matches now, and as many
 * match as before, none of them matched before either: what matches is the same, and nothing of it has changed. Of a first page the
 * listings are the same, too, where those that changed are not on it and do not belong there. Changes by which the plan neither filters
 * nor sorts are passed over. In doubt nothing is the same.
 */
export function compareShelf(model: Model, shown: ShownShelf, since: number): Sameness {
  const { plan, next, total, isFirst, weights } = shown;
  if (!isNoted(plan)) return 'nothing';
  const { changed } = model;
  const byPins = leadsPinned(plan.sort) && changed.pins > since ? comparePins(model, shown) : 'all';
  if (byPins === 'nothing') return byPins;
  const reached = reachesTheSame(model, plan, next) ? byPins : 'listings';
  if (plan.words === null) return less(reached, compareWithout(model, shown, since));
  const wordsMoved = changed.words > since;
  // What is suggested instead depends on all words there are.
  if (wordsMoved && total === 0) return 'nothing';
  const isRankedAnew = wordsMoved && plan.sort === 'relevance' && isFirst;
  const search = isRankedAnew ? searchOf(model, plan) : null;
  if (isRankedAnew && (search === null || !sameWeights(search, weights))) return 'nothing';
  return less(reached, compareWith(model, shown, since, search));
}

function less(one: Sameness, other: Sameness): Sameness {
  if (one === 'nothing' || other === 'all') return one;
  return other;
}

/** A walk keeps the pins with which it began. Where it begins, one that matches comes first or no longer does; others move its cursor alone. */
function comparePins(model: Model, shown: ShownShelf): Sameness {
  const { isFirst, next, plan } = shown;
  if (!isFirst) return next === null ? 'all' : 'listings';
  const search = searchOf(model, plan);
  if (plan.words !== null && search === null) return 'nothing';
  const selection = selectShelf(model, plan, search);
  if (selection !== null && pinsMovedSince(model, shown.pinAct).some((id) => isMatch(selection, id))) return 'nothing';
  if (next === null) return 'all';
  return canClose(shown) ? 'listings' : 'nothing';
}

/** By votes and sales the cursor says how many there are from its place upwards. */
function reachesTheSame(model: Model, { sort }: ShelfPlan, next: Walk | null): boolean {
  if (next === null || !isRising(sort)) return true;
  return reachOf(model, sort, next.key) === next.reach;
}

/** Without words: whether a listing is among what is selected is known of both moments. */
function compareWithout(model: Model, shown: ShownShelf, since: number): Sameness {
  const { recent } = model;
  const changes = countSince(recent, since);
  if (changes < 0) return 'nothing';
  const looked = lookedAt(shown.plan);
  let sameness: Sameness = 'all';
  for (let back = 0; back < changes; back += 1) {
    const slot = slotOf(recent.count, back);
    if (!concerns(model, shown, slot, looked)) continue;
    const kinds = (recent.kinds[slot] ?? 0) & (looked.moving | looked.sorting);
    const isThere = isAmong(model, shown.plan, slot);
    if (isThere === wasAmong(model, shown.plan, slot) && (kinds & ~CERTAIN) === 0) continue;
    if (!staysAway(model, shown, recent.ids[slot] ?? 0, isThere, [])) return 'nothing';
    sameness = 'listings';
  }
  return sameness;
}

/** With words it is known of now alone: so none of the changed ones matches, and in all there are as many as before. */
function compareWith(model: Model, shown: ShownShelf, since: number, compiled: Search | null): Sameness {
  const { plan, ids } = shown;
  const { recent } = model;
  const changes = countSince(recent, since);
  if (changes < 0) return 'nothing';
  const looked = lookedAt(plan);
  let search = compiled;
  let selection: Selection | null = null;
  let sameness: Sameness = 'all';
  let someMoved = false;
  for (let back = 0; back < changes; back += 1) {
    const slot = slotOf(recent.count, back);
    if (!concerns(model, shown, slot, looked)) continue;
    search ??= searchOf(model, plan);
    selection ??= search && selectShelf(model, plan, search);
    if (search === null || selection === null) return 'nothing';
    const id = recent.ids[slot] ?? 0;
    if (isAmong(model, plan, slot) && isMatch(selection, id)) {
      if (!staysAway(model, shown, id, true, search.scored)) return 'nothing';
      sameness = 'listings';
    } else if (ids.includes(id)) return 'nothing';
    someMoved ||= ((recent.kinds[slot] ?? 0) & looked.moving) !== 0;
  }
  return someMoved ? less(sameness, compareTotal(model, shown, selection)) : sameness;
}

function compareTotal(model: Model, shown: ShownShelf, selection: Selection | null): Sameness {
  if (countShelf(model, shown.plan, selection) === shown.total) return 'all';
  return canClose(shown) ? 'listings' : 'nothing';
}

/** Whether what comes after the page can be said anew without looking for its listings. */
function canClose({ isFirst, next }: ShownShelf): boolean {
  return isFirst && next !== null && !next.leads;
}

/** Whether a listing that changed was not on the page and does not belong there now. */
function staysAway(
  model: Model,
  shown: ShownShelf,
  id: number,
  matches: boolean,
  scored: readonly Weighted[],
): boolean {
  const { next, ids, plan } = shown;
  if (!canClose(shown) || next === null || ids.includes(id)) return false;
  if (!matches) return true;
  // It may come first now, wherever it stood.
  if (leadsPinned(plan.sort) && levelOf(pinnedAsOf(model, model.pinAct).posting, id) > 0) return false;
  const ahead = keyAhead(model, plan, id, scored) - (isAscending(plan.sort) ? -next.key : next.key);
  return ahead === 0 ? id < next.id : ahead < 0;
}

const isAscending = (sort: Sort): boolean => SORT_RULES[sort].direction === 'ascending';

/** The higher, the earlier it comes. */
function keyAhead({ orders }: Model, { sort }: ShelfPlan, id: number, scored: readonly Weighted[]): number {
  if (sort === 'new') return 0;
  if (isKeySort(sort)) return isAscending(sort) ? -orders[sort].keyOf(id) : orders[sort].keyOf(id);
  let score = 0;
  for (const { posting, weight } of scored) score += weight * levelOf(posting, id);
  return score;
}

interface Looked {
  moving: number;
  sorting: number;
  /** By a text, to match. */
  needed: Needed;
}

function lookedAt(plan: ShelfPlan): Looked {
  const needed = plan.words === null ? NOTHING_NEEDED : neededFor(plan.words);
  return { moving: kindsThatMove(plan), sorting: kindsThatSort(plan), needed };
}

const NOTHING_NEEDED: Needed = [];

/** Whether that change may have brought a listing in or out, or moved it within, as far as that can be said without looking for words. */
function concerns(model: Model, shown: ShownShelf, slot: number, { moving, sorting, needed }: Looked): boolean {
  const kinds = (model.recent.kinds[slot] ?? 0) & (moving | sorting);
  if (kinds === 0 || !couldMatch(model, shown.plan, slot) || !mayMatch(model.recent, slot, needed)) return false;
  const isThere = isAmong(model, shown.plan, slot);
  if ((kinds & moving) !== 0) return isThere || wasAmong(model, shown.plan, slot);
  return isThere && !comesLater(model, shown, model.recent.ids[slot] ?? 0);
}

/** Of these it is known what the listing was before. */
const CERTAIN = CHANGE.live | CHANGE.aisle | CHANGE.text;

/** Changes that may bring a listing into what the plan selects, or out of it. */
function kindsThatMove({ aisle, tag, verifiedSalesMin, words }: ShelfPlan): number {
  return (
    CHANGE.live |
    (aisle < 0 ? 0 : CHANGE.aisle) |
    (words === null && tag === null ? 0 : CHANGE.text) |
    (verifiedSalesMin > 0 ? CHANGE.sales : 0)
  );
}

const RAISING: Partial<Record<Figure, number>> = { votes: CHANGE.votes, sales: CHANGE.sales };

/** Of attributes, and of other figures, no changes are noted. */
function isNoted({ labels, sort }: ShelfPlan): boolean {
  return labels.every(([kind]) => kind === 'tags') && (!isRising(sort) || RAISING[SORT_RULES[sort].key] !== undefined);
}

/** Changes that may move it within. By relevance edits do, and these are among the others. */
function kindsThatSort({ sort }: ShelfPlan): number {
  return isRising(sort) ? (RAISING[SORT_RULES[sort].key] ?? 0) : 0;
}

/** By the filters whose outcome for a listing never changes, and by verified sales where these are as before. */
function couldMatch({ columns, merchants, recent }: Model, plan: ShelfPlan, slot: number): boolean {
  const id = recent.ids[slot] ?? 0;
  const priceUnits = columns.priceUnits[id] ?? 0;
  if (plan.free !== null && plan.free !== (priceUnits === 0)) return false;
  if (plan.maxPriceUnits !== null && priceUnits > plan.maxPriceUnits) return false;
  if (plan.seller !== null && merchants[columns.merchant[id] ?? 0]?.handle !== plan.seller) return false;
  if (((recent.kinds[slot] ?? 0) & CHANGE.sales) !== 0) return true;
  return (columns.verifiedSales[id] ?? 0) >= plan.verifiedSalesMin;
}

/** By what may change and is known of both moments, now and right before the change. */
function isAmong({ columns, recent, labels }: Model, { aisle, tag }: ShelfPlan, slot: number): boolean {
  const id = recent.ids[slot] ?? 0;
  if (columns.state[id] !== LIVE || (aisle >= 0 && columns.aisle[id] !== aisle)) return false;
  return tag === null || hasTag(columns, id, labels.tags.byText.get(tag)?.number);
}

function wasAmong({ recent, labels }: Model, { aisle, tag }: ShelfPlan, slot: number): boolean {
  if (recent.wasLive[slot] === 0 || (aisle >= 0 && recent.aisles[slot] !== aisle)) return false;
  return tag === null || hadTag(recent, slot, labels.tags.byText.get(tag)?.number);
}

/** What rose and still comes after the last row of the page came after it before. The pinned that lead are on the page. */
function comesLater({ orders }: Model, { plan: { sort }, ids, next }: ShownShelf, id: number): boolean {
  if (next === null || next.leads || !isRising(sort)) return false;
  return orders[sort].keyOf(id) < next.key && !ids.includes(id);
}

function searchOf(model: Model, { words }: ShelfPlan): Search | null {
  return words && model.text.compile(words);
}

function sameWeights({ scored }: Search, weights: readonly number[]): boolean {
  return scored.length === weights.length && scored.every(({ weight }, at) => weight === weights[at]);
}
