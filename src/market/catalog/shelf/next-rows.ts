import type { Sort } from '../../../contract/vocabulary.ts';
import type { Model } from '../model/model.ts';
import { type Pinned, pinnedAsOf } from '../model/pins.ts';
import { isKeySort, isRising, SORT_RULES, sumFrom } from '../model/sorts.ts';
import { bestMatches, type Ranking, type Scored } from '../sets/best-matches.ts';
import { isMatch, type Matches, matchesInOrder, newestMatches } from '../sets/matches.ts';
import { LEVEL_GAINS } from '../text/term-levels.ts';
import type { Search } from '../text/text-index.ts';
import type { ShelfPlan } from './plan-shelf.ts';

/** The position between two pages, and what later pages keep from the first. */
export interface PageCursor {
  /**
   * In sorts that show pins first: the last act that changed a pin; later pages use the pins as of then. By relevance: the last edit of a
   * listing that matched on the first page; listings edited later have lost their position and are left out. Edits of other listings change
   * neither this number nor the cursor.
   */
  revision: number;
  /** Rows of the first page's total that have not been returned yet. */
  left: number;
  /** The newest listing that matched on the first page. */
  newest: number;
  /** Whether the last row was pinned. Pinned rows come first. */
  isPinned: boolean;
  /** The sort key of the last row: a figure or a score. */
  key: number;
  id: number;
  /** Least progress (`progressOf`) a copy needs to continue. A copy behind it would use outdated keys. */
  progress: number;
  /** The number of wanted words that a listing needs, as on the first page; 0 if each counts with any number. */
  least: number;
  /** How the words were searched on the first page. */
  choices: string;
  /** Word weights fixed when page 1 was built, because later edits change how rare a word is. */
  weights: readonly number[];
}

export interface NextRows {
  ids: number[];
  /** Null on the last page. */
  next: PageCursor | null;
}

interface Row {
  id: number;
  key: number;
  isPinned: boolean;
}

interface RowsRequest {
  model: Model;
  plan: ShelfPlan;
  matches: Matches;
  least: number;
  search: Search | null;
  total: number;
  cursor: PageCursor | null;
}

/** Returns the next page. Keys never fall and relevance skips edited listings, so no later page repeats a row. */
export function nextRows(request: RowsRequest): NextRows {
  const { plan, total, cursor } = request;
  const left = cursor?.left ?? total;
  // Read one row more than is shown, to see whether this is the last page.
  const rows = readRows(request, plan.limit + 1);
  const shown = rows.slice(0, Math.min(plan.limit, left));
  const last = shown.at(-1);
  const hasMore = last !== undefined && rows.length > shown.length && left > shown.length;
  const next = hasMore ? cursorAfter(request, last, left - shown.length) : null;
  return { ids: shown.map(({ id }) => id), next };
}

function cursorAfter(
  request: RowsRequest,
  { isPinned, key, id }: Pick<PageCursor, 'isPinned' | 'key' | 'id'>,
  left: number,
): PageCursor {
  const { model, plan, cursor } = request;
  const revision = cursor?.revision ?? revisionOf(request);
  return {
    revision,
    left,
    newest: cursor?.newest ?? newestMatches(request.matches, model.newestId + 1, 1)[0] ?? 0,
    isPinned,
    key,
    id,
    progress: progressOf(model, plan.sort, key),
    least: request.least,
    choices: request.search?.resolution.choices ?? '',
    weights: plan.sort === 'relevance' ? (cursor?.weights ?? weightsOf(request)) : [],
  };
}

function weightsOf({ search }: RowsRequest): number[] {
  return (search?.scored ?? []).map(({ weight }) => weight);
}

/** Returns the revision that a cursor keeps from its first page. */
function revisionOf({ model, plan, matches }: RowsRequest): number {
  if (plan.sort !== 'relevance') return SORT_RULES[plan.sort].pinnedFirst ? model.pinRevision : 0;
  const [edited = 0] = matchesInOrder(matches, model.orders.edited, null, 1);
  return model.columns.editedRevision[edited] ?? 0;
}

function readRows(request: RowsRequest, limit: number): Row[] {
  const { plan } = request;
  if (plan.sort === 'relevance') return rowsByRelevance(request, limit);
  if (isKeySort(plan.sort) && !SORT_RULES[plan.sort].pinnedFirst)
    return rowsByKey(request, plan.sort, request.matches, limit);
  const pinned = pinnedAsOf(request.model, request.cursor?.revision ?? request.model.pinRevision);
  if (pinned.ids.size === 0) return unpinnedRows(request, request.matches, limit);
  const leadingRows = pinnedRows(request, pinned, limit);
  if (leadingRows.length >= limit) return leadingRows;
  const others = withTest(request.matches, (id) => !pinned.ids.has(id));
  return [...leadingRows, ...unpinnedRows(request, others, limit - leadingRows.length)];
}

function pinnedRows({ model, plan, matches, cursor }: RowsRequest, pinned: Pinned, limit: number): Row[] {
  if (cursor !== null && !cursor.isPinned) return [];
  const keyOf = isKeySort(plan.sort) ? model.orders[plan.sort].keyOf : () => 0;
  const rows = [...pinned.ids]
    .filter((id) => isMatch(matches, id))
    .map((id) => ({ id, key: keyOf(id), isPinned: true }))
    .sort((a, b) => b.key - a.key || b.id - a.id);
  const rest = cursor === null ? rows : rows.filter(({ key, id }) => comesAfter(key, id, cursor));
  return rest.slice(0, limit);
}

function comesAfter(key: number, id: number, cursor: PageCursor): boolean {
  return key < cursor.key || (key === cursor.key && id < cursor.id);
}

function unpinnedRows(request: RowsRequest, matches: Matches, limit: number): Row[] {
  const { model, plan, cursor } = request;
  if (isKeySort(plan.sort)) return rowsByKey(request, plan.sort, matches, limit);
  const below = cursor === null ? model.newestId + 1 : cursor.isPinned ? cursor.newest + 1 : cursor.id;
  return newestMatches(matches, below, limit).map((id) => ({ id, key: 0, isPinned: false }));
}

function rowsByKey(request: RowsRequest, sort: keyof Model['orders'], matches: Matches, limit: number): Row[] {
  const { model, cursor } = request;
  const order = model.orders[sort];
  const after = cursor === null || cursor.isPinned ? null : { key: cursor.key, id: cursor.id };
  return matchesInOrder(withoutNewer(matches, cursor), order, after, limit).map((id) => ({
    id,
    key: order.keyOf(id),
    isPinned: false,
  }));
}

/** Excludes listings added since the first page, so that they do not displace others. */
function withoutNewer(matches: Matches, cursor: PageCursor | null): Matches {
  if (cursor === null) return matches;
  const { newest } = cursor;
  return withTest(matches, (id) => id <= newest);
}

function withTest(matches: Matches, test: (id: number) => boolean): Matches {
  return { ...matches, tests: [...matches.tests, test] };
}

function rowsByRelevance({ model, matches, search, cursor }: RowsRequest, limit: number): Row[] {
  const toRow = ({ id, key }: Scored): Row => ({ id, key, isPinned: false });
  const ranking = rankingOf(model, search, cursor);
  if (cursor === null) return bestMatches(matches, ranking, null, limit).map(toRow);
  const { editedRevision } = model.columns;
  const { revision } = cursor;
  const unedited = withTest(withoutNewer(matches, cursor), (id) => (editedRevision[id] ?? 0) <= revision);
  return bestMatches(unedited, ranking, cursor, limit).map(toRow);
}

const HIGHEST_FIGURE = 15;

/** Ranks by words first. Of equals, those with many verified sales lead, in steps that double, and then the newest. */
function rankingOf({ columns, verified }: Model, search: Search | null, cursor: PageCursor | null): Ranking {
  const { verifiedSales } = columns;
  const scored = search?.scored ?? [];
  return {
    scored: cursor === null ? scored : scored.map((one, at) => ({ ...one, weight: cursor.weights[at] ?? 0 })),
    gains: LEVEL_GAINS,
    first: search?.titled ?? new Set(),
    figureOf: (id) => Math.min(HIGHEST_FIGURE, 32 - Math.clz32(verifiedSales[id] as number)),
    withFigure: verified,
  };
}

/**
 * Measures how many of the changes that move rows ahead of `key` this copy has applied: each one raises the number. By votes, it is the sum
 * of votes of all listings with at least `key` votes. All copies apply changes in the same order, so the copy with the lower number is
 * behind. By relevance it is the number of all sales, of which the verified ones decide between equals.
 */
export function progressOf(model: Model, sort: Sort, key: number): number {
  if (sort === 'relevance') return sumFrom(model.sums.sales, 1);
  const revision = SORT_RULES[sort].pinnedFirst ? model.pinRevision : 0;
  return isRising(sort) ? revision + sumFrom(model.sums[sort], key) : revision;
}
