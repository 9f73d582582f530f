import { ATTRIBUTE_NAMES } from '../../../contract/listing-fields.ts';
import type { ShelfQuery } from '../../../contract/shelves.ts';
import { AISLES, type Sort } from '../../../contract/vocabulary.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { LabelKind, Model } from '../model/model.ts';
import {
  countMatches,
  hasMatchWith,
  keepBestCovered,
  type Matches,
  markMatches,
  type Selection,
} from '../sets/matches.ts';
import type { Posting } from '../sets/posting.ts';
import { countUpTo } from '../sets/sorted-ids.ts';
import { type ParsedQuery, parseQuery } from '../text/parse-query.ts';
import { type Resolution, requireAll } from '../text/resolve-query.ts';
import type { Search } from '../text/text-index.ts';

/** A parsed query of the shelves, shared by all requests with the same filters. */
export interface ShelfPlan {
  /** The canonical form of all filters and the sort. Cursors are bound to it. */
  key: string;
  words: ParsedQuery | null;
  match: 'any' | 'all';
  /** The requested tag and attributes, each with its whole text. */
  labels: readonly (readonly [kind: LabelKind, text: string])[];
  /** Index in AISLES, or -1 for all aisles. */
  aisle: number;
  seller: string | null;
  free: boolean | null;
  maxPriceUnits: number | null;
  verifiedSalesMin: number;
  sort: Sort;
  outline: boolean;
  limit: number;
  /** Cached total, with the model, the version and the forms of the words it was computed from. */
  counted: { model: Model; version: number; choices: string; total: number } | null;
  /** Cached forms of the words for first pages. */
  resolved: { model: Model; version: number; resolution: Resolution } | null;
}

export function planShelf(query: ShelfQuery): ShelfPlan {
  const words = query.q === undefined ? null : parseQuery(query.q);
  const sort = query.sort ?? (words === null ? 'new' : 'relevance');
  const attributes = ATTRIBUTE_NAMES.flatMap((name) =>
    query[name] === undefined ? [] : [[name, query[name]] as const],
  );
  const filters = {
    of: 'shelves',
    words: words?.key ?? null,
    tag: query.tag ?? null,
    aisle: query.aisle ?? null,
    seller: query.seller ?? null,
    free: query.free ?? null,
    price: query.max_price_usdc === undefined ? null : Number(query.max_price_usdc),
    verified: query.verified_sales_min ?? 0,
    sort,
    // Leave out what is not requested, so that cursors stay valid after an upgrade that adds it.
    ...(query.match === 'all' ? { match: query.match } : {}),
    ...Object.fromEntries(attributes),
  };
  return {
    key: canonicalJson(filters),
    words,
    match: query.match ?? 'any',
    labels: [...attributes, ...(filters.tag === null ? [] : [['tags', filters.tag] as const])],
    aisle: query.aisle === undefined ? -1 : AISLES.indexOf(query.aisle),
    seller: filters.seller,
    free: query.free === undefined ? null : query.free === 'true',
    maxPriceUnits: filters.price,
    verifiedSalesMin: filters.verified,
    sort,
    outline: query.fields === 'outline',
    limit: query.limit,
    counted: null,
    resolved: null,
  };
}

/** Returns how the plan's words are searched. `choices` are those of the cursor, null on a first page. */
export function resolveShelf(model: Model, plan: ShelfPlan, choices: string | null): Resolution | null {
  const { words, match, resolved } = plan;
  if (words === null) return null;
  if (match === 'all') return requireAll(words);
  if (choices !== null) return model.text.resolve(words, choices);
  if (resolved?.model === model && resolved.version === model.version) return resolved.resolution;
  const resolution = model.text.resolve(words, null);
  plan.resolved = { model, version: model.version, resolution };
  return resolution;
}

/** The listings of a shelf. */
export interface Selected {
  /** Null if there are none. */
  readonly matches: Matches | null;
  /** The number of wanted terms that a listing needs; 0 if not all count the same. */
  readonly least: number;
  /** Whether a listing has all words of the query. */
  readonly hasAll: boolean;
}

/** Chooses the listings of a shelf. `least` is the number of wanted terms that a listing needs, as on the first page of the walk; null there. */
export function selectShelf(model: Model, plan: ShelfPlan, search: Search | null, least: number | null): Selected {
  const selection = selectionOf(model, plan, search);
  if (selection === null) return { matches: null, least: 0, hasAll: false };
  const terms = selection.wanted.length;
  const matches = markMatches(least === null ? selection : { ...selection, least: Math.max(least, selection.least) });
  const isWhole = search !== null && search.resolution.missing.length === 0;
  if (terms === 0) return { matches, least: 0, hasAll: isWhole && countMatches(matches) > 0 };
  if (plan.sort === 'relevance') return { matches, least: 0, hasAll: isWhole && hasMatchWith(matches, terms) };
  if (least !== null) return { matches, least, hasAll: isWhole && least === terms };
  const best = keepBestCovered(matches);
  return { ...best, hasAll: isWhole && best.least === terms };
}

/** Returns what the plan selects, or null when nothing can match. `search` is the compiled form of the plan's words. */
function selectionOf(model: Model, plan: ShelfPlan, search: Search | null): Selection | null {
  const must = search === null ? [] : [...search.must];
  const mustNot = search === null ? [] : [...search.mustNot];
  const { wanted, least } = wantedTerms(search, must);
  const tests: ((id: number) => boolean)[] = [];
  if (search?.matchesNothing) return null;
  const aisle = model.aisles[plan.aisle];
  if (aisle !== undefined) must.push(aisle);
  for (const [kind, text] of plan.labels) {
    const label = model.labels[kind].byText.get(text);
    if (label === undefined) return null;
    must.push(label.live);
  }
  if (plan.seller !== null) {
    const seller = model.merchantOfHandle.get(plan.seller);
    if (seller === undefined) return null;
    must.push(seller.live);
  }
  if (plan.free === true) must.push(model.free);
  if (plan.free === false) mustNot.push(model.free);
  const { columns } = model;
  if (plan.maxPriceUnits !== null) {
    const most = plan.maxPriceUnits;
    tests.push((id) => (columns.priceUnits[id] ?? 0) <= most);
  }
  if (plan.verifiedSalesMin > 0) must.push(model.verified);
  if (plan.verifiedSalesMin > 1) {
    const least = plan.verifiedSalesMin;
    tests.push((id) => (columns.verifiedSales[id] ?? 0) >= least);
  }
  if (must.length === 0 && least === 0) must.push(model.live);
  return { must, mustNot, tests, wanted, least };
}

/** Returns the terms of which a listing needs at least `least`. A single one is put into `must`, which needs no counting. */
function wantedTerms(search: Search | null, must: Posting[]): Pick<Selection, 'wanted' | 'least'> {
  const wanted = search?.wanted ?? [];
  const [only, ...others] = wanted;
  if (only === undefined || must.length > 0) return { wanted, least: 0 };
  if (others.length > 0 || only.length > 1) return { wanted, least: 1 };
  must.push(...only);
  return { wanted: [], least: 0 };
}

/** Counts all matches. Cached until the model changes. */
export function countShelf(model: Model, plan: ShelfPlan, { matches, least }: Selected, choices = ''): number {
  const last = plan.counted;
  const key = `${least} ${choices}`;
  if (last !== null && last.model === model && last.version === model.version && last.choices === key)
    return last.total;
  const total = matches === null ? 0 : countMatching(model, plan, matches);
  plan.counted = { model, version: model.version, choices: key, total };
  return total;
}

function countMatching(model: Model, plan: ShelfPlan, matches: Matches): number {
  const { must, mustNot, tests, wanted } = matches;
  // With a price limit as the only filter, the order by price gives the count.
  if (
    plan.maxPriceUnits !== null &&
    tests.length === 1 &&
    mustNot.length + wanted.length === 0 &&
    must[0] === model.live
  ) {
    return countUpTo(model.orders.price_asc, plan.maxPriceUnits);
  }
  return countMatches(matches);
}
