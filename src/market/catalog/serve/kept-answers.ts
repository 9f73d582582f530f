import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import { dropPage, type SharedPage } from './shared-page.ts';

export interface WatchedParts extends PageParts {
  /**
   * The same listings in the same order with what stands around them now, or these very parts; null: another page, which has to be made
   * anew. `since` is the version that they are of. What the listings say is watched apart. Without this, every change makes another page.
   */
  still?(model: Model, since: number): WatchedParts | null;
}

export interface Kept {
  model: Model;
  /** Of the model, when the parts were right. */
  version: number;
  /** It was found to be another page now. */
  outdated: boolean;
  minute: number;
  listingsDigest: string;
  tag: string;
  parts: WatchedParts;
  /** How often; bytes are kept of what is asked for again. */
  asked: number;
  /** The listings alone: what stands around them changes more often. */
  listings: SharedPage | null;
  gzip: SharedPage | null;
}

export interface KeptAnswers {
  get(key: string): Kept | undefined;
  put(key: string, kept: Kept): void;
  /** The bytes under that key may have become more. */
  note(key: string): void;
  /** Forgets until what is kept fits into what there is room for now. */
  trim(): void;
  clear(): void;
  bytes(): number;
}

/** An entry without its texts, in bytes: what counts is that many small ones have an end too. */
const ENTRY_BYTES = 2_048;

/**
 * What was asked for lately, in two generations that have half of the room each: when the younger is full, the older is forgotten. How
 * much room there is may change.
 */
export function createKeptAnswers(mostBytes: () => number): KeptAnswers {
  let young = new Map<string, Kept>();
  let old = new Map<string, Kept>();
  const sizes = new WeakMap<Kept, number>();
  let youngBytes = 0;
  let oldBytes = 0;

  const forgetOld = (): void => {
    const forgotten = old;
    [old, oldBytes] = [new Map(), 0];
    dropAll(forgotten);
  };
  const clear = (): void => {
    forgetOld();
    const forgotten = young;
    [young, youngBytes] = [new Map(), 0];
    dropAll(forgotten);
  };
  const account = (key: string, kept: Kept): void => {
    const size = sizeOf(key, kept);
    youngBytes += size - (sizes.get(kept) ?? 0);
    sizes.set(kept, size);
    const most = mostBytes();
    if (youngBytes <= most / 2) return;
    forgetOld();
    old = young;
    old.delete(key);
    oldBytes = youngBytes - size;
    // One that is larger than the budget is the only young one, and goes with the next.
    young = new Map([[key, kept]]);
    youngBytes = size;
    if (youngBytes + oldBytes > most) forgetOld();
  };
  const put = (key: string, kept: Kept): void => {
    const before = young.get(key);
    if (before !== undefined && before !== kept) {
      youngBytes -= sizes.get(before) ?? 0;
      dropBytes(before);
    }
    young.set(key, kept);
    account(key, kept);
  };

  return {
    get: (key) => {
      const kept = young.get(key);
      if (kept !== undefined) return kept;
      const aged = old.get(key);
      if (aged === undefined) return undefined;
      old.delete(key);
      oldBytes -= sizes.get(aged) ?? 0;
      sizes.delete(aged);
      put(key, aged);
      return aged;
    },
    put,
    note: (key) => {
      const kept = young.get(key);
      if (kept !== undefined) account(key, kept);
    },
    trim: () => {
      const most = mostBytes();
      if (youngBytes + oldBytes > most) forgetOld();
      if (youngBytes > most) clear();
    },
    clear,
    bytes: () => youngBytes + oldBytes,
  };
}

/** Buffers of pages are longer than the pages. What begins a page is shared by many. */
function sizeOf(key: string, { parts, listings, gzip }: Kept): number {
  const bodies = (listings?.body.buffer.byteLength ?? 0) + (gzip?.body.buffer.byteLength ?? 0);
  return ENTRY_BYTES + key.length + parts.prefix.length + parts.suffix.length + bodies;
}

/** When they are not counted any more: how much of their memory may wait to be used again depends on how much is kept. */
function dropAll(forgotten: ReadonlyMap<string, Kept>): void {
  for (const kept of forgotten.values()) dropBytes(kept);
}

/** They are not the bytes of this answer any more. */
export function dropBytes(kept: Kept): void {
  dropPage(kept.listings);
  kept.listings = null;
  dropGzip(kept);
}

export function dropGzip(kept: Kept): void {
  dropPage(kept.gzip);
  kept.gzip = null;
}
