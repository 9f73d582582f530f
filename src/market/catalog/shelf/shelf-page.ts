import { AISLES } from '../../../contract/vocabulary.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
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
  return cursor !== null && cursor.progress > progressOf(model, sort, cursor.key);
}

export interface ShelfPage {
  ids: number[];
  total: number;
  nextCursor: string | null;
}

export function shelfPage(model: Model, cursors: Cursors, { plan, search, cursor }: ShelfQuery): ShelfPage {
  const matches = selectShelf(model, plan, search);
  const total = countShelf(model, plan, matches);
  if (matches === null) return { ids: [], total, nextCursor: null };
  const { ids, next } = nextRows({ model, plan, matches, scored: search?.scored ?? [], total, cursor });
  return { ids, total, nextCursor: next && cursors.seal(plan.key, cursorNumbers(next)) };
}

/** Builds one page of the shelves, with listing ids in place of their JSON. */
export function shelfParts(model: Model, cursors: Cursors, query: ShelfQuery): PageParts {
  const { plan, cursor } = query;
  const { ids, total, nextCursor } = shelfPage(model, cursors, query);
  const rest = {
    total,
    returned: ids.length,
    page_size: plan.limit,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
    did_you_mean: total === 0 && cursor === null ? didYouMean(model, plan) : null,
  };
  const suffix = Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
  return { prefix: aislesOf(model).prefix, ids, suffix, outline: plan.outline };
}

/** Finds a similar spelling of the words that matches something under the same filters. */
function didYouMean(model: Model, plan: ShelfPlan): string | null {
  const { typed } = plan;
  if (typed === null) return null;
  const last = plan.suggested;
  if (last !== null && last.model === model && last.version === model.version) return last.words;
  const suggestion = model.text.suggest(typed, (near) => {
    const search = model.text.compile(near);
    if (search === null) return false;
    return countShelf(model, { ...plan, counted: null }, selectShelf(model, plan, search)) > 0;
  });
  plan.suggested = { model, version: model.version, words: suggestion };
  return suggestion;
}

/** Weights range from 1 to 511. Packing five into one number keeps the cursor of the longest query short enough. */
const WEIGHT_BASE = 512;
const WEIGHTS_PER_NUMBER = 5;

export function cursorNumbers({ revision, left, newest, isPinned, key, id, progress, weights }: PageCursor): number[] {
  return [revision, left, newest, isPinned ? 1 : 0, key, id, progress, ...packWeights(weights)];
}

export function toCursor(position: readonly number[]): PageCursor {
  const [revision = 0, left = 0, newest = 0, isPinned = 0, key = 0, id = 0, progress = 0, ...packed] = position;
  return { revision, left, newest, isPinned: isPinned === 1, key, id, progress, weights: unpackWeights(packed) };
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

function unpackWeights(packed: readonly number[]): number[] {
  const weights: number[] = [];
  for (const some of packed) {
    for (let rest = some; rest > 0; rest = Math.floor(rest / WEIGHT_BASE)) weights.push(rest % WEIGHT_BASE);
  }
  return weights;
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
