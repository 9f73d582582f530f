import type { PageParts } from '../fragments/page-bytes.ts';
import type { Model } from '../model/model.ts';
import { createGenerations } from './generations.ts';
import { dropPage, type FramedPage, LONG_FRAME_BYTES, type SharedPage } from './shared-page.ts';

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
  /** What stands around the listings changes more often. */
  listings: FramedPage | null;
  gzip: SharedPage | null;
}

export interface KeptAnswers {
  get(key: string): Kept | undefined;
  put(key: string, kept: Kept): void;
  /** Of an entry that is kept: its bytes may have become more. */
  note(key: string, kept: Kept): void;
  /** Forgets until what is kept fits into what there is room for now. */
  trim(): void;
  clear(): void;
  bytes(): number;
  /** Of these, all but finished pages. */
  entryBytes(): number;
}

/** An entry without its texts, in bytes: what counts is that many small ones have an end too. */
const ENTRY_BYTES = 2_048;

/** Of the room: what a page consists of is a small part of its bytes, and the larger part of the work to make it. */
const ENTRIES_SHARE = 1 / 8;

/** What was asked for lately: the entries, and apart from them, as they are given up sooner, their bytes. How much room there is may change. */
export function createKeptAnswers(mostBytes: () => number): KeptAnswers {
  const bodies = createGenerations<string, Kept>({
    mostBytes: () => mostBytes() * (1 - ENTRIES_SHARE),
    sizeOf: (_, kept) => sizeOfBodies(kept),
    forget: (kept, key) => {
      if (longFrameOf(kept) > 0) entries.delete(key);
      dropBytes(kept);
      kept.asked = 0;
    },
  });
  const entries = createGenerations<string, Kept>({
    mostBytes: () => mostBytes() * ENTRIES_SHARE,
    sizeOf: (key, kept) => ENTRY_BYTES + key.length + frameOf(kept) - longFrameOf(kept),
    forget: (kept, key) => {
      bodies.delete(key);
      dropBytes(kept);
    },
  });
  const countBodies = (key: string, kept: Kept): void => {
    if (sizeOfBodies(kept) === 0) bodies.delete(key);
    else bodies.put(key, kept);
  };

  return {
    get: (key) => {
      const kept = entries.get(key);
      if (kept !== undefined) bodies.get(key);
      return kept;
    },
    put: (key, kept) => {
      entries.put(key, kept);
      countBodies(key, kept);
    },
    note: countBodies,
    trim: () => {
      entries.trim();
      bodies.trim();
    },
    clear: entries.clear,
    bytes: () => entries.bytes() + bodies.bytes(),
    entryBytes: entries.bytes,
  };
}

/** What begins a page is shared by many. */
function frameOf({ parts }: Kept): number {
  return parts.prefix.length + parts.suffix.length;
}

/** Where what stands around the listings is the page, it counts as its bytes. */
function longFrameOf(kept: Kept): number {
  const bytes = frameOf(kept);
  return bytes > LONG_FRAME_BYTES ? bytes : 0;
}

function sizeOfBodies(kept: Kept): number {
  const { listings, gzip } = kept;
  return longFrameOf(kept) + (listings?.takenBytes ?? 0) + (gzip?.takenBytes ?? 0);
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
