import { AISLES } from '../../../contract/vocabulary.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import type { Search } from '../text/text-index.ts';
import { countShelf, type ShelfPlan, selectShelf } from './plan-shelf.ts';
import { reachOf, type Walk, walkShelf } from './walk-shelf.ts';

export interface ShelfQuery {
  plan: ShelfPlan;
  /** What became of the plan's words; null where it has none. */
  search: Search | null;
  /** Where it goes on; null at the beginning. */
  walk: Walk | null;
}

/** Refuses a cursor that was not made for these filters. */
export function openWalk(cursors: Cursors, plan: ShelfPlan, cursor: string | undefined): Walk | null {
  return cursor === undefined ? null : toWalk(cursors.open(plan.key, cursor));
}

/** The page before was of a copy that knew more: going on with less, rows would come twice. */
export function isBehind(model: Model, { sort }: ShelfPlan, walk: Walk | null): boolean {
  return walk !== null && walk.reach > reachOf(model, sort, walk.key);
}

export interface ShelfPage {
  ids: number[];
  total: number;
  nextCursor: string | null;
}

/** Which listings are on a page, and how it goes on. */
export function shelfPage(model: Model, cursors: Cursors, { plan, search, walk }: ShelfQuery): ShelfPage {
  const matches = selectShelf(model, plan, search);
  const total = countShelf(model, plan, matches);
  if (matches === null) return { ids: [], total, nextCursor: null };
  const { ids, next } = walkShelf({ model, plan, matches, scored: search?.scored ?? [], total, walk });
  return { ids, total, nextCursor: next && cursors.seal(plan.key, toPosition(next)) };
}

/** One page of the shelves, with its listings named and not yet written. */
export function shelfParts(model: Model, cursors: Cursors, asked: ShelfQuery): PageParts {
  const { plan, walk } = asked;
  const { ids, total, nextCursor } = shelfPage(model, cursors, asked);
  const rest = {
    total,
    returned: ids.length,
    page_size: plan.limit,
    has_more: nextCursor !== null,
    next_cursor: nextCursor,
    did_you_mean: total === 0 && walk === null ? didYouMean(model, plan) : null,
  };
  const suffix = Buffer.from(`],${JSON.stringify(rest).slice(1)}`);
  return { prefix: aislesOf(model).prefix, ids, suffix, outline: plan.outline };
}

/** A near spelling of the words that matches something under the same filters. */
function didYouMean(model: Model, plan: ShelfPlan): string | null {
  const { typed } = plan;
  if (typed === null) return null;
  const known = plan.suggested;
  if (known !== null && known.model === model && known.version === model.version) return known.words;
  const suggestion = model.text.suggest(typed, (near) => {
    const search = model.text.compile(near);
    if (search === null) return false;
    return countShelf(model, { ...plan, counted: null }, selectShelf(model, plan, search)) > 0;
  });
  plan.suggested = { model, version: model.version, words: suggestion };
  return suggestion;
}

/** A weight is far below that, and never 0. Five of them in a number make the cursor of the longest query as short as it has to be. */
const WEIGHT = 512;
const PACKED = 5;

/** A walk as the numbers that its cursor holds. */
export function toPosition({ revision, left, newest, leads, key, id, reach, weights }: Walk): number[] {
  return [revision, left, newest, leads ? 1 : 0, key, id, reach, ...pack(weights)];
}

export function toWalk(position: readonly number[]): Walk {
  const [revision = 0, left = 0, newest = 0, leads = 0, key = 0, id = 0, reach = 0, ...packed] = position;
  return { revision, left, newest, leads: leads === 1, key, id, reach, weights: unpack(packed) };
}

function pack(weights: readonly number[]): number[] {
  const packed: number[] = [];
  for (let from = 0; from < weights.length; from += PACKED) {
    packed.push(weights.slice(from, from + PACKED).reduceRight((sum, weight) => sum * WEIGHT + weight, 0));
  }
  return packed;
}

function unpack(packed: readonly number[]): number[] {
  const weights: number[] = [];
  for (const some of packed) {
    for (let rest = some; rest > 0; rest = Math.floor(rest / WEIGHT)) weights.push(rest % WEIGHT);
  }
  return weights;
}

interface AisleCounts {
  version: number;
  aisles: { name: (typeof AISLES)[number]; count: number; url: string }[];
  /** How a page of the shelves begins: the same bytes in the same place as long as the counts are the same. */
  prefix: Buffer;
}

const countedAisles = new WeakMap<Model, AisleCounts>();

/** All aisles with the number of their live listings, whatever the filters. */
export function aislesOf(model: Model): AisleCounts {
  const known = countedAisles.get(model);
  if (known?.version === model.version) return known;
  if (known?.aisles.every(({ count }, at) => count === model.aisles[at]?.count)) {
    known.version = model.version;
    return known;
  }
  const aisles = AISLES.map((name, at) => ({
    name,
    count: model.aisles[at]?.count ?? 0,
    url: `/api/shelves?aisle=${name}`,
  }));
  const prefix = Buffer.from(`{"aisles":${JSON.stringify(aisles)},"listings":[`);
  const fresh = { version: model.version, aisles, prefix };
  countedAisles.set(model, fresh);
  return fresh;
}
