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
  /** The city resident this merchant claims to be. */
  cityHandle: string | null;
  live: Posting;
  /** Sales of listings in every state. */
  sales: number;
  /** The public record as JSON. Null after a change. */
  json: Buffer | null;
}

/** A filter value (a tag or an attribute's text) and the live listings that have it. */
export interface Label {
  number: number;
  live: Posting;
}

export interface Labels {
  byText: Map<string, Label>;
  /** The label with number n is at index n - 1. */
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
  /** Indexed by id; ids have no gaps. */
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
  /** Members of a detail beyond the summary, for listings that are not live or were appealed. */
  endings: Map<number, Ending>;
  pins: Pin[];
  /** The newest act applied. The next two are the newest change of a pin and the newest edit. */
  revision: number;
  pinRevision: number;
  editRevision: number;
  /** Sums of each rising figure over listings in every state. */
  sums: Record<RisingSort, ValueSums>;
  /** Rises with every change. */
  version: number;
  /** True while a change is applied. Stays true if that fails, because the model may then be inconsistent. */
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
  const entries = ['tags', ...ATTRIBUTE_NAMES].map((kind) => [kind, { byText: new Map(), all: [] }]);
  return Object.fromEntries(entries) as Model['labels'];
}

function createOrders(columns: Columns): Model['orders'] {
  const entries = ORDERS.map(({ name, key, direction }) => {
    const read = READ_FIGURE[key];
    return [name, createSortedIds((id) => read(columns, id), direction)] as const;
  });
  return Object.fromEntries(entries) as Model['orders'];
}

/** Tracks up to which id the JSON of listings has been read. Infinity once no more will be read. */
interface Filling {
  upTo(): number;
  raiseTo(upTo: number): void;
  /** Waits until JSON above `id` has been read, and resolves with the id reached. */
  waitBeyond(id: number): Promise<number>;
}

function createFilling(): Filling {
  let reached = 0;
  let next = Promise.withResolvers<void>();
  return {
    upTo: () => reached,
    raiseTo: (upTo) => {
      reached = upTo;
      next.resolve();
      next = Promise.withResolvers();
    },
    waitBeyond: async (id) => {
      while (reached <= id) await next.promise;
      return reached;
    },
  };
}

/** Returns whether the JSON was ever read, even if it was evicted since. Without it, the model has only figures and cannot make an ETag. */
export function isFilled({ fragments }: Pick<Model, 'fragments'>, id: number): boolean {
  return fragments.version(id) !== 0;
}

/** Returns the first listings above an id whose JSON was never read. */
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
