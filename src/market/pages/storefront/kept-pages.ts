import { gzipSync } from 'node:zlib';
import { etagOf } from '../../../platform/http/etag.ts';

/** A page as it goes out, in one encoding. */
export interface KeptPage {
  /** Names these very bytes. */
  readonly etag: string;
  readonly body: Buffer;
  /** To be called once for each time it was given: the bytes are not needed any more, and may be written again. */
  release(): void;
}

/** Pages that are asked for again and again, under what they were made of. The oldest go first. */
export interface KeptPages {
  /** The page of that name in one encoding; its text is made where it is not kept. */
  give(name: string, isPacked: boolean, write: () => string): KeptPage;
}

/**
 * A stretch of memory with pages one behind the other, forgotten together and then written again. A piece of memory for
 * each page would lie outside of the heap as well, and each few thousand of them would make the collector go through all of it.
 */
interface Slab {
  readonly bytes: Buffer;
  /** Up to here it is written. */
  at: number;
  /** Of what is kept in it. */
  readonly keys: string[];
  /** Answers that are on their way out of it. */
  readers: number;
  release(): void;
}

interface InSlab extends KeptPage {
  readonly slab: Slab;
}

const SLAB_BYTES = 1_048_576;
/** What one place of a string comes to at most, in UTF-8. */
const MOST_BYTES_OF_UNIT = 3;
/** One part in a hundred larger than with the usual level, in two thirds of the time; few pages are longer than this window. */
const PACKING = { level: 4, windowBits: 14, memLevel: 7 };

/** Keeps up to so many megabytes, taken one by one as they are needed. */
export function createKeptPages(mostMegabytes: number): KeptPages {
  const slabs: Slab[] = [];
  const kept = new Map<string, InSlab>();
  let open = -1;

  const turn = (): Slab => {
    open = (open + 1) % mostMegabytes;
    const oldest = slabs[open];
    for (const key of oldest?.keys.splice(0) ?? []) kept.delete(key);
    // Whoever still reads it has it to the end, and then it goes.
    const slab = oldest === undefined || oldest.readers > 0 ? createSlab() : oldest;
    slab.at = 0;
    slabs[open] = slab;
    return slab;
  };
  const roomFor = (byteCount: number): Slab => {
    const slab = slabs[open];
    return slab !== undefined && slab.at + byteCount <= SLAB_BYTES ? slab : turn();
  };

  const keep = (key: string, slab: Slab, byteCount: number): InSlab => {
    const body = slab.bytes.subarray(slab.at, slab.at + byteCount);
    slab.at += byteCount;
    slab.keys.push(key);
    const page = { etag: etagOf(body), body, slab, release: slab.release };
    kept.set(key, page);
    return page;
  };
  const make = (key: string, text: string, isPacked: boolean): InSlab => {
    // Written where there is room, which is taken only if it is to stay.
    const slab = roomFor(text.length * MOST_BYTES_OF_UNIT);
    const byteCount = slab.bytes.write(text, slab.at);
    if (!isPacked) return keep(key, slab, byteCount);
    const packed = gzipSync(slab.bytes.subarray(slab.at, slab.at + byteCount), PACKING);
    const place = roomFor(packed.length);
    packed.copy(place.bytes, place.at);
    return keep(key, place, packed.length);
  };
  return {
    give: (name, isPacked, write) => {
      const key = isPacked ? `${name}\npacked` : name;
      let page = kept.get(key);
      if (page === undefined) {
        const text = write();
        if (text.length * MOST_BYTES_OF_UNIT > SLAB_BYTES) return unkept(text, isPacked);
        page = make(key, text, isPacked);
      }
      page.slab.readers += 1;
      return page;
    },
  };
}

function createSlab(): Slab {
  const slab: Slab = {
    ...{ bytes: Buffer.allocUnsafeSlow(SLAB_BYTES), at: 0, keys: [], readers: 0 },
    release: () => {
      slab.readers -= 1;
    },
  };
  return slab;
}

/** Longer than any page is by rights: in memory of its own, for this one answer. */
function unkept(text: string, isPacked: boolean): KeptPage {
  const plain = Buffer.from(text);
  const body = isPacked ? gzipSync(plain, PACKING) : plain;
  return { etag: etagOf(body), body, release: () => {} };
}
