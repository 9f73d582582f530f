import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import { dropPage, type SharedPage } from './shared-page.ts';

export interface Kept {
  model: Model;
  /** Of the model, when the parts were right. */
  version: number;
  minute: number;
  tag: string;
  parts: PageParts;
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
}

/** An entry without its texts, in bytes: what counts is that many small ones have an end too. */
const ENTRY_BYTES = 2_048;

/** What was asked for lately, in two generations: when the younger is full, the older is forgotten. */
export function createKeptAnswers(budgetBytes: number): KeptAnswers {
  const most = budgetBytes / 2;
  let young = new Map<string, Kept>();
  let old = new Map<string, Kept>();
  const sizes = new WeakMap<Kept, number>();
  let bytes = 0;

  const account = (key: string, kept: Kept): void => {
    const { parts, listings, gzip } = kept;
    const around = key.length + parts.prefix.length + parts.suffix.length;
    const size = ENTRY_BYTES + around + (listings?.body.length ?? 0) + (gzip?.body.length ?? 0);
    bytes += size - (sizes.get(kept) ?? 0);
    sizes.set(kept, size);
    if (bytes <= most) return;
    for (const forgotten of old.values()) dropBytes(forgotten);
    old = young;
    old.delete(key);
    // One that is larger than the budget is the only young one, and goes with the next.
    young = new Map([[key, kept]]);
    bytes = size;
  };
  const put = (key: string, kept: Kept): void => {
    const before = young.get(key);
    if (before !== undefined && before !== kept) {
      bytes -= sizes.get(before) ?? 0;
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
      sizes.delete(aged);
      put(key, aged);
      return aged;
    },
    put,
    note: (key) => {
      const kept = young.get(key);
      if (kept !== undefined) account(key, kept);
    },
  };
}

/** They are not the bytes of this answer any more. */
export function dropBytes(kept: Kept): void {
  dropPage(kept.listings);
  dropPage(kept.gzip);
  kept.listings = null;
  kept.gzip = null;
}
