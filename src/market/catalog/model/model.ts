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
  /** The resident that it names. */
  cityHandle: string | null;
  /** Its live listings. */
  live: Posting;
  /** Over listings of every state. */
  sales: number;
  /** The record as it goes out; null after a change. */
  json: Buffer | null;
}

/** One text by which shelves filter, where it is the whole of a tag or of an attribute. */
export interface Label {
  number: number;
  live: Posting;
}

export interface Labels {
  byText: Map<string, Label>;
  /** By number, from 1 on. */
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
  /** At least one verified sale. */
  verified: Posting;
  orders: Record<OrderName, SortedIds>;
  fragments: Fragments;
  filling: Filling;
  /** Fragments and what is needed to write pages of them. */
  pages: PageSources;
  text: TextIndex;
  /** Listings up to this id are in the text index; Infinity once it is complete. */
  textUpTo: number;
  /** What the detail of a listing that is not live, or was restored, says beyond its summary. */
  endings: Map<number, Ending>;
  pins: Pin[];
  /** The newest act that is in here, and the newest ones that pinned or unpinned, and that edited. */
  revision: number;
  pinRevision: number;
  editRevision: number;
  /** Of all listings, whatever their state, by the figure of each sort. */
  sums: Record<RisingSort, ValueSums>;
  /** Rises with every change. */
  version: number;
  /** While a change is applied; still true after one that failed: then nothing here can be relied on. */
  torn: boolean;
}

export interface Ending {
  /** Members of a JSON object, without braces. */
  json: string;
  /** What stands where the goods would be. */
  message: string;
}

export interface ModelOptions {
  fragmentBytes: number;
  /** For fragments in gzip, kept while they are asked for. */
  deflatedBytes: number;
  giveWay(): Promise<void>;
  /** Reserved for finished pages. */
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

/** How far the JSON of a model's listings has been read, in the order of their ids; Infinity once nothing more will be. */
interface Filling {
  upTo(): number;
  rise(upTo: number): void;
  /** Resolves as soon as more than these have their JSON, with how many. */
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

/**
 * Whether the JSON of a listing was ever read: if not, nothing is known of it but what decides on its shelves, and no ETag either.
 * Of one that has left memory again that is known.
 */
export function isFilled({ fragments }: Pick<Model, 'fragments'>, id: number): boolean {
  return fragments.version(id) !== 0;
}

/** The first that are known and not filled, of those with a higher id. */
export function nextUnfilled(model: Model, above: number, most: number): number[] {
  const { columns, newestId } = model;
  const found: number[] = [];
  for (let id = above + 1; id <= newestId && found.length < most; id += 1) {
    if (columns.state[id] !== 0 && !isFilled(model, id)) found.push(id);
  }
  return found;
}

export function areFilled(model: Pick<Model, 'fragments'>, ids: readonly number[]): boolean {
  for (const id of ids) if (!isFilled(model, id)) return false;
  return true;
}
