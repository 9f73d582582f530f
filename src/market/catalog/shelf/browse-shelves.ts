import type { Endpoints } from '../../../contract/index.ts';
import { shelfQuery } from '../../../contract/shelves.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { MarketRead } from '../../context.ts';
import { type MemoryRead, readQueryAs } from '../answers.ts';
import type { MarketCatalog } from '../market-catalog.ts';
import type { Model } from '../model/model.ts';
import type { Search } from '../text/text-index.ts';
import { planShelf, resolveShelf, type ShelfPlan } from './plan-shelf.ts';
import { isModelBehind, openCursor, shelfParts } from './shelf-page.ts';

const SEARCH_RETRY_SECONDS = 5;
/** Retries are needed because under many searches a set may be evicted between preparing and using it. */
const MOST_ATTEMPTS = 5;
/** Limit of cached plans, about the number of filter combinations in use at a time. */
const MOST_PLANS = 4_096;
/** Fits a search of 200 escaped characters together with all filters. */
const LONGEST_FILTERS = 4_096;
const CURSOR = /^[A-Za-z0-9_-]{1,2048}$/;

/** Answers GET /api/shelves if its listings and words are in memory. */
export function shelvesFromMemory({ answers, shelfCursors }: MarketCatalog): MemoryRead {
  const planOf = createPlans();
  return ({ query, request, leastVersion }) => {
    const split = splitCursor(query);
    const plan = split && planOf(split.filters);
    if (split === null || plan === null) return null;
    const build = (model: Model) => {
      const cursor = openCursor(shelfCursors, plan, split.cursor);
      if (isModelBehind(model, plan, cursor)) return null;
      if (plan.words === null) return shelfParts(model, shelfCursors, { plan, search: null, cursor });
      if (model.textUpTo !== Number.POSITIVE_INFINITY) return null;
      const resolution = resolveShelf(model, plan, cursor?.choices ?? null);
      const search = resolution && model.text.compile(resolution);
      return search && shelfParts(model, shelfCursors, { plan, search, cursor });
    };
    // Clients that page through the same shelves in the same minute get the same cursors, so later pages are worth caching too.
    return answers.fromMemory(request, build, leastVersion);
  };
}

/** Handles what memory cannot answer: loads missing listings, prepares searches and refuses. */
export function makeBrowseShelves(catalog: MarketCatalog): MarketRead<Endpoints['browseShelves']> {
  const { model, fresh, answers, shelfCursors } = catalog;
  return async (_market, call) => {
    const plan = planShelf(call.query);
    const cursor = openCursor(shelfCursors, plan, call.query.cursor);
    if (isModelBehind(model(), plan, cursor)) await fresh();
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const choices = cursor?.choices ?? null;
      await prepareSearch(model(), plan, choices);
      if (searchOf(model(), plan, choices) === 'unprepared') continue;
      const prepared = await answers.full({ target: call.path, acceptsGzip: call.acceptsGzip }, (current) => {
        const search = searchOf(current, plan, choices);
        if (search === 'unprepared') throw new Refusal('search_not_ready', { retryAfterSeconds: 1 });
        return shelfParts(current, shelfCursors, { plan, search, cursor });
      });
      return { status: 200, prepared };
    }
    throw new Refusal('search_not_ready', { retryAfterSeconds: 1 });
  };
}

async function prepareSearch(model: Model, plan: ShelfPlan, choices: string | null): Promise<void> {
  if (plan.words === null) return;
  checkReady(model);
  const resolution = resolveShelf(model, plan, choices);
  if (resolution !== null) await model.text.prepare(resolution);
}

function searchOf(model: Model, plan: ShelfPlan, choices: string | null): Search | null | 'unprepared' {
  if (plan.words === null) return null;
  // A reload during preparation may have replaced the model by one whose text index is incomplete.
  checkReady(model);
  const resolution = resolveShelf(model, plan, choices);
  return resolution && (model.text.compile(resolution) ?? 'unprepared');
}

function checkReady(model: Model): void {
  if (model.textUpTo === Number.POSITIVE_INFINITY) return;
  throw new Refusal('search_not_ready', { retryAfterSeconds: SEARCH_RETRY_SECONDS });
}

/** Splits the query into cursor and filters, because plans are cached by filters. */
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
    const cached = plans.get(filters);
    if (cached !== undefined) return cached;
    const query = readQueryAs(shelfQuery, filters);
    const plan = query && planShelf(query);
    if (plans.size >= MOST_PLANS) plans.clear();
    plans.set(filters, plan);
    return plan;
  };
}
