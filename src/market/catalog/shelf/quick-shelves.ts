import { shelfQuery } from '../../../contract/listings.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { QuickAnswer, QuickRead } from '../../../platform/http/prepared.ts';
import { quickQuery } from '../../quick-query.ts';
import type { Model } from '../model/model.ts';
import type { Answers } from '../serve/answers.ts';
import type { WatchedParts } from '../serve/kept-answers.ts';
import { planShelf, type ShelfPlan } from './plan-shelf.ts';
import { isBehind, openWalk, shelfParts } from './shelf-parts.ts';

/** Plans kept: about that many different filters are asked for at a time. */
const MOST_PLANS = 4_096;
/** A query of a hundred characters, each escaped, and all filters. Longer ones are not worth remembering. */
const LONGEST_FILTERS = 2_048;
const CURSOR = /^[A-Za-z0-9_-]{1,512}$/;

/** GET /api/shelves out of memory. Whatever is unusual about the query is left to the long way. */
export function createQuickShelves(
  answers: Answers,
  cursors: Cursors,
): (read: QuickRead, query: string) => QuickAnswer | null {
  const planOf = createPlans();
  return (read, query) => {
    const asked = splitCursor(query);
    if (asked === null) return null;
    const plan = planOf(asked.filters);
    if (plan === null) return null;
    const { cursor } = asked;
    // Whoever walks the same shelves in the same minute gets the same cursors, so that later pages are worth keeping too.
    return answers.quick(read, read.target, (model) => partsNow(model, cursors, plan, cursor));
  };
}

function partsNow(model: Model, cursors: Cursors, plan: ShelfPlan, cursor: string | undefined): WatchedParts | null {
  const walk = openWalk(cursors, plan, cursor);
  if (isBehind(model, plan, walk)) return null;
  if (plan.words === null) return shelfParts(model, cursors, { plan, search: null, walk });
  if (model.textUpTo !== Number.POSITIVE_INFINITY) return null;
  const search = model.text.compile(plan.words);
  return search && shelfParts(model, cursors, { plan, search, walk });
}

/** The cursor apart from the filters, since filters come again and a cursor does not. */
function splitCursor(query: string): { filters: string; cursor: string | undefined } | null {
  const at = query.indexOf('cursor=');
  if (at < 0) return { filters: query, cursor: undefined };
  if (at > 0 && query[at - 1] !== '&') return null;
  const end = query.indexOf('&', at);
  const cursor = query.slice(at + 'cursor='.length, end < 0 ? undefined : end);
  if (!CURSOR.test(cursor)) return null;
  const filters = end < 0 ? query.slice(0, Math.max(0, at - 1)) : query.slice(0, at) + query.slice(end + 1);
  return filters.includes('cursor') ? null : { filters, cursor };
}

function createPlans(): (filters: string) => ShelfPlan | null {
  const plans = new Map<string, ShelfPlan | null>();
  return (filters) => {
    if (filters.length > LONGEST_FILTERS) return null;
    const known = plans.get(filters);
    if (known !== undefined) return known;
    const plan = tryToPlan(filters);
    if (plans.size >= MOST_PLANS) plans.clear();
    plans.set(filters, plan);
    return plan;
  };
}

function tryToPlan(filters: string): ShelfPlan | null {
  const query = quickQuery(shelfQuery, filters);
  return query && planShelf(query);
}
