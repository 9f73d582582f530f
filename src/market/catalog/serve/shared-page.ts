import { joinPage, type PageBytes, type PageParts, type PageSources } from '../fragments/page-bytes.ts';

/** Bytes that are sent to many. Their memory is given back when the last has them and nobody will send them again. */
export interface SharedPage {
  readonly body: Uint8Array;
  readonly takenBytes: number;
  /** Sendings under way. */
  users: number;
  /** No further sending. */
  dropped: boolean;
  giveBack(): void;
  /** To be called once by each user, when it is done. */
  release(): void;
}

export function sharePage(page: PageBytes): SharedPage {
  const shared: SharedPage = {
    body: page.body,
    takenBytes: page.takenBytes,
    users: 0,
    dropped: false,
    giveBack: page.release,
    release: () => {
      shared.users -= 1;
      if (shared.dropped && shared.users === 0) shared.giveBack();
    },
  };
  return shared;
}

/** Listings whose page is one piece of memory, though what stands around them changes more often than they do. `body` is the listings. */
export interface FramedPage extends SharedPage {
  /** All of the page with that around its listings; null where that finds no room, or others are being sent it with something else. */
  within(prefix: Uint8Array, suffix: Uint8Array): Uint8Array | null;
}

/** Totals and cursors grow. */
const SPARE_BYTES = 256;
/** What is longer is the page itself, and not copied a second time. */
export const LONG_FRAME_BYTES = 4_096;
const ROOM = new Uint8Array(LONG_FRAME_BYTES + SPARE_BYTES);

/** Null: a listing is not held. */
export function frameListings(sources: PageSources, parts: PageParts): FramedPage | null {
  const { prefix, suffix } = parts;
  const spare = prefix.length + suffix.length > LONG_FRAME_BYTES ? null : SPARE_BYTES;
  const before = spare === null ? 0 : prefix.length + spare;
  const after = spare === null ? 0 : suffix.length + spare;
  const page = joinPage(sources, { ...parts, prefix: ROOM.subarray(0, before), suffix: ROOM.subarray(0, after) });
  if (page === null) return null;
  const { body } = page;
  const end = body.length - after;
  const shared = sharePage({ ...page, body: body.subarray(before, end) });
  let shown: { prefix: Uint8Array; suffix: Uint8Array; bytes: Uint8Array } | null = null;
  const within: FramedPage['within'] = (prefix, suffix) => {
    if (shown?.prefix === prefix && shown.suffix === suffix) return shown.bytes;
    if (shared.users > 0 || prefix.length > before || suffix.length > after) return null;
    const start = before - prefix.length;
    body.set(prefix, start);
    body.set(suffix, end);
    shown = { prefix, suffix, bytes: body.subarray(start, end + suffix.length) };
    return shown.bytes;
  };
  return Object.assign(shared, { within });
}

export function dropPage(page: SharedPage | null): void {
  if (page === null || page.dropped) return;
  page.dropped = true;
  if (page.users === 0) page.giveBack();
}
