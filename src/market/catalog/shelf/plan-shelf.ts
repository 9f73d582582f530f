import { ATTRIBUTE_NAMES } from '../../../contract/listing-fields.ts';
import type { ShelfQuery } from '../../../contract/listings.ts';
import { AISLES, type Sort } from '../../../contract/vocabulary.ts';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import type { LabelKind, Model } from '../model/model.ts';
import { countMatches, type Matches, markMatches } from '../sets/matches.ts';
import { countUpTo } from '../sets/sorted-ids.ts';
import { type ParsedQuery, parseQuery } from '../text/parse-query.ts';
import type { Search } from '../text/text-index.ts';

/** A parsed query of the shelves, shared by all requests with the same filters. */
export interface ShelfPlan {
  /** The canonical form of all filters and the sort. Cursors are bound to it. */
  key: string;
  words: ParsedQuery | null;
  /** The words in the order they were typed, for a suggestion. */
  typed: ParsedQuery | null;
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
  /** Cached total, with the model and version it was computed from. */
  counted: { model: Model; version: number; total: number } | null;
  suggested: { model: Model; version: number; words: string | null } | null;
}

export function planShelf(query: ShelfQuery): ShelfPlan {
  const typed = query.q === undefined ? null : parseQuery(query.q);
  const words = typed && sortTerms(typed);
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
    // Leave out attributes that are not requested, so that cursors stay valid after an upgrade that adds one.
    ...Object.fromEntries(attributes),
  };
  return {
    key: canonicalJson(filters),
    words,
    typed,
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
    suggested: null,
  };
}

/** Sorts the terms, because a cursor stores their weights by position and must fit the same words in any order. */
function sortTerms(query: ParsedQuery): ParsedQuery {
  const keyed = query.terms.map((term) => ({ term, name: JSON.stringify(term) }));
  keyed.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...query, terms: keyed.map(({ term }) => term) };
}

/** Marks the listings that match, or returns null when none can. `search` is the compiled form of the plan's words. */
export function selectShelf(model: Model, plan: ShelfPlan, search: Search | null): Matches | null {
  const must = search === null ? [] : [...search.must];
  const mustNot = search === null ? [] : [...search.mustNot];
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
  if (must.length === 0) must.push(model.live);
  return markMatches({ must, mustNot, tests });
}

/** Counts all matches. Cached until the model changes. */
export function countShelf(model: Model, plan: ShelfPlan, matches: Matches | null): number {
  const last = plan.counted;
  if (last !== null && last.model === model && last.version === model.version) return last.total;
  const total = matches === null ? 0 : countMatching(model, plan, matches);
  plan.counted = { model, version: model.version, total };
  return total;
}

function countMatching(model: Model, plan: ShelfPlan, matches: Matches): number {
  const { must, mustNot, tests } = matches;
  // With a price limit as the only filter, the order by price gives the count.
  if (plan.maxPriceUnits !== null && tests.length === 1 && mustNot.length === 0 && must[0] === model.live) {
    return countUpTo(model.orders.price_asc, plan.maxPriceUnits);
  }
  return countMatches(matches);
}
