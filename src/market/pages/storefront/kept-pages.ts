import { gzipSync } from 'node:zlib';
import { etagOf } from '../../../platform/http/etag.ts';

/** A page as it goes out, in one encoding. */
export interface PageForm {
  /** Names these very bytes. */
  etag: string;
  body: Buffer;
}

export interface KeptPage {
  plain: PageForm;
  /** Not before somebody wants it. */
  packed: PageForm | null;
}

/** Pages that are asked for again and again, under what they were made of. The oldest go first. */
export interface KeptPages {
  get(key: string): KeptPage | undefined;
  put(key: string, text: string): KeptPage;
  /** The form for who takes gzip, made once. */
  packed(key: string, page: KeptPage): PageForm;
}

/** One part in a hundred larger than the usual 6, in three quarters of the time. */
const LEVEL = 4;

export function createKeptPages(mostBytes: number): KeptPages {
  const kept = new Map<string, KeptPage>();
  let held = 0;
  const forget = (key: string): void => {
    const before = kept.get(key);
    if (before !== undefined && kept.delete(key)) held -= sizeOf(before);
  };
  const hold = (key: string, page: KeptPage): KeptPage => {
    forget(key);
    if (sizeOf(page) > mostBytes) return page;
    kept.set(key, page);
    held += sizeOf(page);
    for (const oldest of kept.keys()) {
      if (held <= mostBytes) break;
      forget(oldest);
    }
    return page;
  };
  return {
    get: (key) => {
      const known = kept.get(key);
      // To the young end.
      return known && hold(key, known);
    },
    put: (key, text) => hold(key, { plain: formOf(Buffer.from(text)), packed: null }),
    packed: (key, page) => {
      if (page.packed !== null) return page.packed;
      const packed = formOf(gzipSync(page.plain.body, { level: LEVEL }));
      hold(key, { ...page, packed });
      return packed;
    },
  };
}

function formOf(body: Buffer): PageForm {
  return { etag: etagOf(body), body };
}

function sizeOf({ plain, packed }: KeptPage): number {
  return plain.body.byteLength + (packed?.body.byteLength ?? 0);
}
