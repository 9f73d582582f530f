import { ATTRIBUTE_NAMES, type AttributeName } from '../../../contract/listing-fields.ts';
import { AISLES, LISTING_STATES } from '../../../contract/vocabulary.ts';
import { createDeflated } from '../fragments/deflated.ts';
import { createFragments, type Fragments } from '../fragments/fragments.ts';
import { createPageBuffers } from '../fragments/page-buffers.ts';
import type { PageSources } from '../fragments/page-bytes.ts';
import { USUAL_JSON } from '../present-listing.ts';
import { createPosting, type Posting } from '../sets/posting.ts';
import { createSortedIds, type SortedIds } from '../sets/sorted-ids.ts';
import { createTextIndex, type TextIndex } from '../text/text-index.ts';
import { type Columns, createColumns, READ_FIGURE } from './columns.ts';
import type { Pin } from './pins.ts';
import { createValueSums, ORDERS, type OrderName, RISING, type RisingSort, type ValueSums } from './sorts.ts';

export const LIVE = LISTING_STATES.indexOf('live') + 1;

export interface MerchantEntry {
  id: number;
  handle: string;
  joinedAt: string;
  storeLine: string;
  /** The city resident it claims to be. */
  cityHandle: string | null;
  live: Posting;
  /** Counts listings in every state. */
  sales: number;
  /** The record as it is sent; null after a change. */
  json: Buffer | null;
}

/** A filter value: the whole text of a tag or attribute, and the live listings that have it. */
export interface Label {
  number: number;
  live: Posting;
}

export interface Labels {
  byText: Map<string, Label>;
  /** Label `number` is at index number - 1. */
  all: Label[];
}

export type LabelKind = 'tags' | AttributeName;

/** One process's copy of the public part of the market. All sets and orders hold live listings only. */
export interface Model {
  columns: Columns;
  newestId: number;
  live: Posting;
  aisles: readonly Posting[];
  labels: Record<LabelKind, Labels>;
  /** By id; ids have no gaps. */
  merchants: (MerchantEntry | undefined)[];
  merchantCount: number;
  merchantOfHandle: Map<string, MerchantEntry>;
  free: Posting;
  /** Listings with at least one verified sale. */
  verified: Posting;
  orders: Record<OrderName, SortedIds>;
  fragments: Fragments;
  filling: Filling;
  pages: PageSources;
  text: TextIndex;
  /** Listings up to this id are in the text index; Infinity once it is complete. */
  textUpTo: number;
  /** The part of a detail beyond its summary, for listings that are not live or were appealed. */
  endings: Map<number, Ending>;
  pins: Pin[];
  /** The newest act applied, the newest that pinned or unpinned, and the newest that edited. */
  revision: number;
  pinRevision: number;
  editRevision: number;
  /** Sums over listings in every state, by the figure of each sort. */
  sums: Record<RisingSort, ValueSums>;
  /** Rises with every change. */
  version: number;
  /** True while a change is applied, and for good after one that failed: then the model cannot be relied on. */
  torn: boolean;
}

export interface Ending {
  /** Members of a JSON object, without braces. */
  json: string;
  /** Shown in place of the goods. */
  message: string;
}

export interface ModelOptions {
  fragmentBytes: number;
  deflatedBytes: number;
  giveWay(): Promise<void>;
  pageBytes: number;
}

export function createModel(options: ModelOptions): Model {
  const columns = createColumns();
  const fragments = createFragments({ budgetBytes: options.fragmentBytes, usualMiddle: Buffer.from(USUAL_JSON) });
  return {
    columns,
    newestId: 0,
    live: createPosting(),
    aisles: AISLES.map(() => createPosting()),
    labels: createLabels(),
    merchants: [],
    merchantCount: 0,
    merchantOfHandle: new Map(),
    free: createPosting(),
    verified: createPosting(),
    orders: createOrders(columns),
    fragments,
    filling: createFilling(),
    pages: {
      fragments,
      deflated: createDeflated(fragments, { budgetBytes: options.deflatedBytes }),
      buffers: createPageBuffers(options.pageBytes),
    },
    text: createTextIndex({ giveWay: options.giveWay }),
    textUpTo: 0,
    endings: new Map(),
    pins: [],
    revision: 0,
    pinRevision: 0,
    editRevision: 0,
    sums: Object.fromEntries(RISING.map(({ sort }) => [sort, createValueSums()])) as Model['sums'],
    version: 0,
    torn: false,
  };
}

function createLabels(): Model['labels'] {
  const made = ['tags', ...ATTRIBUTE_NAMES].map((kind) => [kind, { byText: new Map(), all: [] }]);
  return Object.fromEntries(made) as Model['labels'];
}

function createOrders(columns: Columns): Model['orders'] {
  const made = ORDERS.map(({ name, key, direction }) => {
    const read = READ_FIGURE[key];
    return [name, createSortedIds((id) => read(columns, id), direction)] as const;
  });
  return Object.fromEntries(made) as Model['orders'];
}

/** Tracks how far the JSON of the listings has been read, by id; Infinity once no more will be read. */
interface Filling {
  upTo(): number;
  rise(upTo: number): void;
  /** Resolves with the id reached, as soon as it is above `id`. */
  past(id: number): Promise<number>;
}

function createFilling(): Filling {
  let reached = 0;
  let next = Promise.withResolvers<void>();
  return {
    upTo: () => reached,
    rise: (upTo) => {
      reached = upTo;
      next.resolve();
      next = Promise.withResolvers();
    },
    past: async (id) => {
      while (reached <= id) await next.promise;
      return reached;
    },
  };
}

/** Tells whether the JSON was ever read, even if it left memory since. If not, the model has only figures and can make no ETag. */
export function isFilled({ fragments }: Pick<Model, 'fragments'>, id: number): boolean {
  return fragments.version(id) !== 0;
}

/** Returns the first listings above that id whose JSON was never read. */
export function nextUnfilled(model: Model, above: number, most: number): number[] {
  const { columns, newestId } = model;
  const ids: number[] = [];
  for (let id = above + 1; id <= newestId && ids.length < most; id += 1) {
    if (columns.state[id] !== 0 && !isFilled(model, id)) ids.push(id);
  }
  return ids;
}

export function areFilled(model: Pick<Model, 'fragments'>, ids: readonly number[]): boolean {
  for (const id of ids) if (!isFilled(model, id)) return false;
  return true;
}
