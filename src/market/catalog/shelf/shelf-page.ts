import type { SearchReport } from '../../../contract/search-report.ts';
import { AISLES } from '../../../contract/vocabulary.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import { parseQuery, type QueryTerm } from '../text/parse-query.ts';
import { requireAll } from '../text/resolve-query.ts';
import type { Search } from '../text/text-index.ts';
import { nextRows, type PageCursor, progressOf } from './next-rows.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';

export interface ShelfQuery {
  plan: ShelfPlan;
  search: Search | null;
  /** Null on the first page. */
  cursor: PageCursor | null;
}

/** Refuses a cursor that was not made for these filters. */
export function openCursor(cursors: Cursors, plan: ShelfPlan, sealed: string | undefined): PageCursor | null {
  return sealed === undefined ? null : toCursor(cursors.open(plan.key, sealed));
}

/** Returns whether the previous page came from a copy that is ahead of this one. Continuing here would repeat rows. */
export function isModelBehind(model: Model, { sort }: ShelfPlan, cursor: PageCursor | null): boolean {
  if (cursor === null) return false;
  if (sort === 'relevance' && cursor.revision > model.editRevision) return true;
  return cursor.progress > progressOf(model, sort, cursor.key);
}

export interface ShelfPage {
  ids: number[];
  total: number;
  nextCursor: string | null;
  hasAll: boolean;
}

export function shelfPage(model: Model, cursors: Cursors, { plan, search, cursor }: ShelfQuery): ShelfPage {
  const selected = selectShelf(model, plan, search, cursor?.least ?? null);
  const { matches, least, hasAll } = selected;
  const total = countShelf(model, plan, selected, search?.resolution.choices);
  if (matches === null) return { ids: [], total, nextCursor: null, hasAll };
  const { ids, next } = nextRows({ model, plan, matches, least, search, total, cursor });
  return { ids, total, nextCursor: next && cursors.seal(plan.key, toPosition(next)), hasAll };
}

/** Builds one page of the shelves, with listing ids in place of their JSON. */
export function shelfParts(model: Model, cursors: Cursors, query: ShelfQuery): PageParts {
  const { plan, search, cursor } = query;
  const { ids, total, nextCursor, hasAll } = shelfPage(model, cursors, query);
  const rest = {
    total,
    returned: ids.length,
    page_size: plan.limit,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
    did_you_mean: total === 0 && cursor === null && plan.match === 'all' ? didYouMean(model, plan) : null,
    search: search && reportSearch(search, hasAll),
  };
  const suffix = Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
  return { prefix: aislesOf(model).prefix, ids, suffix, outline: plan.outline };
}

/** Corrects the words that no listing has. Null if the corrected words match nothing under the same filters either. */
function didYouMean(model: Model, plan: ShelfPlan): string | null {
  if (plan.words === null) return null;
  const { query, terms, missing, choices } = model.text.resolve(plan.words, null);
  if (missing.length > 0 || choices === '') return null;
  const excluded = query.terms.filter(({ need }) => need === 'excluded');
  const text = [...terms.map(termText), ...excluded.map((term) => `-${termText(term)}`)].join(' ');
  const search = model.text.compile(requireAll(parseQuery(`${text} `)));
  return search !== null && selectShelf(model, plan, search, null).hasAll ? text : null;
}

function termText({ kind, words }: Pick<QueryTerm, 'kind' | 'words'>): string {
  return kind === 'phrase' ? `"${words.join(' ')}"` : words.join(' ');
}

/** Says how each word of the query was searched. */
function reportSearch({ words, resolution }: Search, hasAll: boolean): SearchReport {
  return {
    words: words.map(({ word, listings, usedAs }) => ({
      word,
      listings,
      ...(usedAs === null ? {} : { used_as: usedAs }),
    })),
    ignored: [...resolution.ignored],
    missing: [...resolution.missing],
    matched: hasAll ? 'all' : 'some',
  };
}

/** Weights range from 0 to 511. Packing five into one number keeps the cursor of the longest query short enough. */
const WEIGHT_BASE = 512;
const WEIGHTS_PER_NUMBER = 5;
const NUMBERS_BEFORE_WEIGHTS = 8;

/** The forms of the words come first, because the number of weights varies. */
export function toPosition(cursor: PageCursor): (number | string)[] {
  const { revision, left, newest, isPinned, key, id, progress, least, choices, weights } = cursor;
  return [choices, revision, left, newest, isPinned ? 1 : 0, key, id, progress, least, ...packWeights(weights)];
}

export function toCursor([choices, ...numbers]: readonly (number | string)[]): PageCursor {
  const [revision = 0, left = 0, newest = 0, isPinned = 0, key = 0, id = 0, progress = 0, least = 0] =
    numbers.map(Number);
  const weights = unpackWeights(numbers.slice(NUMBERS_BEFORE_WEIGHTS).map(Number));
  return {
    choices: String(choices),
    revision,
    left,
    newest,
    isPinned: isPinned === 1,
    key,
    id,
    progress,
    least,
    weights,
  };
}

function packWeights(weights: readonly number[]): number[] {
  const packed: number[] = [];
  for (let from = 0; from < weights.length; from += WEIGHTS_PER_NUMBER) {
    packed.push(
      weights.slice(from, from + WEIGHTS_PER_NUMBER).reduceRight((sum, weight) => sum * WEIGHT_BASE + weight, 0),
    );
  }
  return packed;
}

/** Returns the weights, and up to four zeros behind them. */
function unpackWeights(packed: readonly number[]): number[] {
  return packed.flatMap((some) =>
    Array.from({ length: WEIGHTS_PER_NUMBER }, (_, at) => Math.floor(some / WEIGHT_BASE ** at) % WEIGHT_BASE),
  );
}

interface AisleCounts {
  version: number;
  aisles: { name: (typeof AISLES)[number]; count: number; url: string }[];
  /** The beginning of every page of the shelves. Stays the same buffer while the counts are unchanged. */
  prefix: Buffer;
}

const countedAisles = new WeakMap<Model, AisleCounts>();

/** Returns all aisles with their number of live listings. Filters do not affect it. */
export function aislesOf(model: Model): AisleCounts {
  const counted = countedAisles.get(model);
  if (counted?.version === model.version) return counted;
  if (counted?.aisles.every(({ count }, at) => count === model.aisles[at]?.count)) {
    counted.version = model.version;
    return counted;
  }
  const aisles = AISLES.map((name, at) => ({
    name,
    count: model.aisles[at]?.count ?? 0,
    url: `/api/shelves?aisle=${name}`,
  }));
  const prefix = Buffer.from(`{"aisles":${JSON.stringify(aisles)},"listings":[`);
  const counts = { version: model.version, aisles, prefix };
  countedAisles.set(model, counts);
  return counts;
}
