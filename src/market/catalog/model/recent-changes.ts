import { mayHave, type Needed, SIGNATURE_WORDS } from '../text/stem-signature.ts';
import { type Columns, TAGS_PER_LISTING } from './columns.ts';

/** In what a listing changed, as far as shelves filter and sort by it. */
export const CHANGE = { live: 1, aisle: 2, text: 4, votes: 8, sales: 16 } as const;

/**
 * The last changes of listings, oldest overwritten first: what a page that is kept has to be held against. Of each the version with
 * which it came, and what the listing was right before it.
 */
export interface RecentChanges {
  /** How many were ever noted. */
  count: number;
  ids: Uint32Array;
  versions: Float64Array;
  kinds: Uint8Array;
  wasLive: Uint8Array;
  aisles: Uint8Array;
  /** TAGS_PER_LISTING places a change. */
  tags: Uint32Array;
  /** A signature a change: of the text that the listing had and has. Nothing but ones where that is not known. */
  signatures: Uint32Array;
}

const KEPT = 4_096;

export function createRecentChanges(): RecentChanges {
  return {
    count: 0,
    ids: new Uint32Array(KEPT),
    versions: new Float64Array(KEPT),
    kinds: new Uint8Array(KEPT),
    wasLive: new Uint8Array(KEPT),
    aisles: new Uint8Array(KEPT),
    tags: new Uint32Array(KEPT * TAGS_PER_LISTING),
    signatures: new Uint32Array(KEPT * SIGNATURE_WORDS),
  };
}

export function noteRecent(
  recent: RecentChanges,
  change: {
    id: number;
    version: number;
    kinds: number;
    wasLive: boolean;
    aisleBefore: number;
    tagsBefore: Uint32Array;
  },
): void {
  const slot = recent.count % KEPT;
  recent.ids[slot] = change.id;
  recent.versions[slot] = change.version;
  recent.kinds[slot] = change.kinds;
  recent.wasLive[slot] = change.wasLive ? 1 : 0;
  recent.aisles[slot] = change.aisleBefore;
  recent.tags.set(change.tagsBefore, slot * TAGS_PER_LISTING);
  recent.signatures.fill(0xffffffff, slot * SIGNATURE_WORDS, (slot + 1) * SIGNATURE_WORDS);
  recent.count += 1;
}

/** Of the change that was noted last. */
export function noteSignature(recent: RecentChanges, signature: Uint32Array): void {
  recent.signatures.set(signature, slotOf(recent.count, 0) * SIGNATURE_WORDS);
}

/** Whether the text of the listing may have had or may have all that is needed. */
export function mayMatch({ signatures }: RecentChanges, slot: number, needed: Needed): boolean {
  return mayHave(signatures, slot * SIGNATURE_WORDS, needed);
}

/** How many of the last changes came after that version; -1 where some of them are forgotten. */
export function countSince({ count, versions }: RecentChanges, version: number): number {
  const known = Math.min(count, KEPT);
  for (let back = 0; back < known; back += 1) {
    if ((versions[slotOf(count, back)] ?? 0) <= version) return back;
  }
  return known === count ? known : -1;
}

/** Where the last change is (`back` 0), and those before it. */
export function slotOf(count: number, back: number): number {
  return (count - 1 - back) % KEPT;
}

/** Now. */
export function hasTag({ tags }: Columns, id: number, tag: number | undefined): boolean {
  return isIn(tags, id, tag);
}

/** Right before that change. */
export function hadTag({ tags }: RecentChanges, slot: number, tag: number | undefined): boolean {
  return isIn(tags, slot, tag);
}

function isIn(tags: Uint32Array, row: number, tag: number | undefined): boolean {
  if (tag === undefined) return false;
  const end = (row + 1) * TAGS_PER_LISTING;
  for (let at = row * TAGS_PER_LISTING; at < end; at += 1) if (tags[at] === tag) return true;
  return false;
}
