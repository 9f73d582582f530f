import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';

export interface Kept {
  model: Model;
  version: number;
  minute: number;
  tag: string;
  parts: PageParts;
  /** How often, since its bytes are these. */
  asked: number;
  plain: Buffer | null;
  gzip: Buffer | null;
}

export interface KeptAnswers {
  get(key: string): Kept | undefined;
  put(key: string, kept: Kept): void;
  /** The bytes under that key may have become more. */
  note(key: string): void;
}

/** An entry without its bytes, in bytes: what counts is that many small ones have an end too. */
const ENTRY_BYTES = 1_024;

/** What was asked for lately, in two generations: when the younger is full, the older is forgotten. */
export function createKeptAnswers(budgetBytes: number): KeptAnswers {
  const most = budgetBytes / 2;
  let young = new Map<string, Kept>();
  let old = new Map<string, Kept>();
  const sizes = new WeakMap<Kept, number>();
  let bytes = 0;

  const account = (key: string, kept: Kept): void => {
    const size = ENTRY_BYTES + (kept.plain?.length ?? 0) + (kept.gzip?.length ?? 0);
    bytes += size - (sizes.get(kept) ?? 0);
    sizes.set(kept, size);
    if (bytes <= most) return;
    old = young;
    young = new Map([[key, kept]]);
    bytes = size;
  };
  const put = (key: string, kept: Kept): void => {
    const before = young.get(key);
    if (before !== undefined) bytes -= sizes.get(before) ?? 0;
    sizes.delete(kept);
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
