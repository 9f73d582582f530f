import type { Sort } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';
import { type Pinned, pinnedAsOf } from '../model/pins.ts';
import { isKeySort, isRising, SORT_RULES, sumFrom } from '../model/sorts.ts';
import { bestMatches, type Scored, type Weighted } from '../sets/best-matches.ts';
import { isMatch, type Matches, matchesInOrder, newestMatches } from '../sets/matches.ts';
import type { ShelfPlan } from './plan-shelf.ts';

/** The position between two pages, and what later pages keep from the first. */
export interface Walk {
  /**
   * In sorts that show pins first, the last act that moved a pin: pins stay as of then. By relevance, the last edit of a listing that
   * matched on the first page: listings edited later have lost their place in the order and are left out. Edits of other listings do not
   * change this number, nor the cursor.
   */
  revision: number;
  /** How many rows of the first page's total have not been returned yet. */
  left: number;
  /** The newest listing that matched on the first page. */
  newest: number;
  /** Whether the last row was one of the pinned, which come first. */
  leads: boolean;
  /** The sort key of the last row: a figure or a score. */
  key: number;
  id: number;
  /** How far a copy must have come to continue: one behind this would continue with outdated keys (`reachOf`). */
  reach: number;
  /** The weight of each word on the first page: listings change, and with them which words are rare. */
  weights: readonly number[];
}

export interface WalkPage {
  ids: number[];
  /** Null on the last page. */
  next: Walk | null;
}

interface Row {
  id: number;
  key: number;
  leads: boolean;
}

interface WalkRequest {
  model: Model;
  plan: ShelfPlan;
  matches: Matches;
  scored: readonly Weighted[];
  total: number;
  walk: Walk | null;
}

/**
 * Returns the next page. Sort keys only rise (votes, sales) or never change (price, id; relevance without edited listings), so a row that
 * was returned never appears again on a later page.
 */
export function walkShelf(course: WalkRequest): WalkPage {
  const { plan, total, walk } = course;
  const left = walk?.left ?? total;
  // Read one more than is shown, to know whether this is the last page.
  const rows = rowsOf(course, plan.limit + 1);
  const shown = rows.slice(0, Math.min(plan.limit, left));
  const last = shown.at(-1);
  const goesOn = last !== undefined && rows.length > shown.length && left > shown.length;
  const next = goesOn ? walkAfter(course, last, left - shown.length) : null;
  return { ids: shown.map(({ id }) => id), next };
}

/** The cursor after that row. */
function walkAfter(course: WalkRequest, { leads, key, id }: Pick<Walk, 'leads' | 'key' | 'id'>, left: number): Walk {
  const { model, plan, walk } = course;
  const revision = walk?.revision ?? revisionOf(course);
  return {
    revision,
    left,
    newest: walk?.newest ?? newestMatches(course.matches, model.newestId + 1, 1)[0] ?? 0,
    leads,
    key,
    id,
    // A copy that has this edit has all rows as they are to be shown, or knows which to leave out.
    reach: plan.sort === 'relevance' ? revision : reachOf(model, plan.sort, key),
    weights: plan.sort === 'relevance' ? (walk?.weights ?? course.scored.map(({ weight }) => weight)) : [],
  };
}

/** The revision of a cursor's first page. */
function revisionOf({ model, plan, matches }: WalkRequest): number {
  if (plan.sort !== 'relevance') return leadsPinned(plan.sort) ? model.pinRevision : 0;
  const [edited = 0] = matchesInOrder(matches, model.orders.edited, null, 1);
  return model.columns.editedRevision[edited] ?? 0;
}

function rowsOf(course: WalkRequest, limit: number): Row[] {
  const { plan } = course;
  if (plan.sort === 'relevance') return byRelevance(course, limit);
  if (isKeySort(plan.sort) && !leadsPinned(plan.sort)) return byKey(course, plan.sort, course.matches, limit);
  const pinned = pinnedAsOf(course.model, course.walk?.revision ?? course.model.pinRevision);
  if (pinned.ids.size === 0) return behindPins(course, course.matches, limit);
  const leaders = leadersOf(course, pinned, limit);
  if (leaders.length >= limit) return leaders;
  const others = passing(course.matches, (id) => !pinned.ids.has(id));
  return [...leaders, ...behindPins(course, others, limit - leaders.length)];
}

function leadersOf({ model, plan, matches, walk }: WalkRequest, pinned: Pinned, limit: number): Row[] {
  if (walk !== null && !walk.leads) return [];
  const keyOf = isKeySort(plan.sort) ? model.orders[plan.sort].keyOf : () => 0;
  const rows = [...pinned.ids]
    .filter((id) => isMatch(matches, id))
    .map((id) => ({ id, key: keyOf(id), leads: true }))
    .sort((a, b) => b.key - a.key || b.id - a.id);
  const rest = walk === null ? rows : rows.filter(({ key, id }) => isBehind(key, id, walk));
  return rest.slice(0, limit);
}

function isBehind(key: number, id: number, walk: Walk): boolean {
  return key < walk.key || (key === walk.key && id < walk.id);
}

function behindPins(course: WalkRequest, matches: Matches, limit: number): Row[] {
  const { model, plan, walk } = course;
  if (isKeySort(plan.sort)) return byKey(course, plan.sort, matches, limit);
  const below = walk === null ? model.newestId + 1 : walk.leads ? walk.newest + 1 : walk.id;
  return newestMatches(matches, below, limit).map((id) => ({ id, key: 0, leads: false }));
}

function byKey(course: WalkRequest, sort: keyof Model['orders'], matches: Matches, limit: number): Row[] {
  const { model, walk } = course;
  const order = model.orders[sort];
  const after = walk === null || walk.leads ? null : { key: walk.key, id: walk.id };
  return matchesInOrder(asOfThen(matches, walk), order, after, limit).map((id) => ({
    id,
    key: order.keyOf(id),
    leads: false,
  }));
}

/** Listings added since the first page must not displace the others. */
function asOfThen(matches: Matches, walk: Walk | null): Matches {
  if (walk === null) return matches;
  const { newest } = walk;
  return passing(matches, (id) => id <= newest);
}

function passing(matches: Matches, test: (id: number) => boolean): Matches {
  return { ...matches, tests: [...matches.tests, test] };
}

function byRelevance({ model, matches, scored, walk }: WalkRequest, limit: number): Row[] {
  const toRow = ({ id, score }: Scored): Row => ({ id, key: score, leads: false });
  if (walk === null) return bestMatches(matches, scored, null, limit).map(toRow);
  const { editedRevision } = model.columns;
  const { revision } = walk;
  const unedited = passing(asOfThen(matches, walk), (id) => (editedRevision[id] ?? 0) <= revision);
  const weighted = scored.map(({ posting, weight }, at) => ({ posting, weight: walk.weights[at] ?? weight }));
  return bestMatches(unedited, weighted, { score: walk.key, id: walk.id }, limit).map(toRow);
}

function leadsPinned(sort: Sort): boolean {
  return SORT_RULES[sort].leadsPinned;
}

/**
 * Measures how far this copy has come in changes that move rows within this order ahead of `key`: every such change raises the number. By
 * votes, it sums the votes of listings that have at least as many as the row at `key`, which are all rows up to there. Two copies see the
 * same changes in the same order, so the lower number is that of the copy behind.
 */
export function reachOf(model: Model, sort: Sort, key: number): number {
  if (sort === 'relevance') return model.editRevision;
  const revision = leadsPinned(sort) ? model.pinRevision : 0;
  return isRising(sort) ? revision + sumFrom(model.sums[sort], key) : revision;
}
