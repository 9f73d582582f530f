import type { Sort } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';
import { type Pinned, pinnedAsOf } from '../model/pins.ts';
import { isKeySort, isRising, SORT_RULES, sumFrom } from '../model/sorts.ts';
import { bestMatches, type Scored, type Weighted } from '../sets/best-matches.ts';
import { isMatch, type Matches, matchesInOrder, newestMatches } from '../sets/matches.ts';
import type { ShelfPlan } from './plan-shelf.ts';

/** Where a walk stands, and what it keeps from its beginning. */
export interface Walk {
  /**
   * Where pins lead, the last act that moved one: pins are those of then. By relevance, the last edit of a listing that matched then: what
   * was edited later has no place in the order any more. Edits of other listings leave this number as it is, and so the cursor.
   */
  revision: number;
  /** How many of the rows of the first total have not been given out yet. */
  left: number;
  /** The newest listing that matched then. */
  newest: number;
  /** Whether the last row was one of the pinned, which come first. */
  leads: boolean;
  /** Of the last row, in the order of the walk: the figure that it goes by, or the score. */
  key: number;
  id: number;
  /** How far a copy has to have come to go on: one that is behind would do so with keys of the past (`reachOf`). */
  reach: number;
  /** What each word counts; numbers of listings change, and with them what is rare. */
  weights: readonly number[];
}

export interface WalkPage {
  ids: number[];
  /** Null at the end. */
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
 * The next rows of a walk. Keys by which rows are sorted only rise (votes, sales) or never change (price, id; relevance without what
 * was edited), so that a row that was given out never comes after the place of the walk again.
 */
export function walkShelf(course: WalkRequest): WalkPage {
  const { plan, total, walk } = course;
  const left = walk?.left ?? total;
  // One more than is shown, to know whether the walk ends here.
  const rows = rowsOf(course, plan.limit + 1);
  const shown = rows.slice(0, Math.min(plan.limit, left));
  const last = shown.at(-1);
  const goesOn = last !== undefined && rows.length > shown.length && left > shown.length;
  const next = goesOn ? walkAfter(course, last, left - shown.length) : null;
  return { ids: shown.map(({ id }) => id), next };
}

/** Where a walk is after that row. */
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
    // Who knows that edit knows every row of the walk as it is to be shown, or knows that it is not.
    reach: plan.sort === 'relevance' ? revision : reachOf(model, plan.sort, key),
    weights: plan.sort === 'relevance' ? (walk?.weights ?? course.scored.map(({ weight }) => weight)) : [],
  };
}

/** Of a walk that begins now. */
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

/** What was listed since the walk began must not take the place of what was there. */
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

/** Whether the pinned come first. */
function leadsPinned(sort: Sort): boolean {
  return SORT_RULES[sort].leadsPinned;
}

/**
 * How far this copy has come in what moves rows within that order before a place in it, as a number that every such change raises. By
 * votes it counts those on listings that have as many as the row at that place or more, which are all that was shown up to there. What
 * two copies have seen is never more on one side and less on the other, so the lower number is that of the copy that is behind.
 */
export function reachOf(model: Model, sort: Sort, key: number): number {
  if (sort === 'relevance') return model.editRevision;
  const revision = leadsPinned(sort) ? model.pinRevision : 0;
  return isRising(sort) ? revision + sumFrom(model.sums[sort], key) : revision;
}
