import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Compression } from './accept-encoding.ts';
import { etagOf } from './etag.ts';

export interface Compressed {
  bytes: Uint8Array;
  /** Its own: a strong ETag names bytes, not a document. */
  etag: string;
}

/** The compressed form of the body with that ETag; null as long as there is none, then it is sent as it is. */
export type CompressDocument = (etag: string, body: string | Uint8Array, how: Compression) => Compressed | null;

const MOST_KEPT_BYTES = 8 * 1_024 * 1_024;
const WORTH_IT_BYTES = 256;
const LONGEST_BYTES = 1_024 * 1_024;

/**
 * Compresses documents that seldom change as well as it can be done, once each. That takes a tenth of a second, so it happens beside the
 * event loop, one at a time, and nobody waits for it.
 */
export function createCompressor(mostKeptBytes = MOST_KEPT_BYTES): CompressDocument {
  const kept = new Map<string, Compressed>();
  let keptBytes = 0;
  let busy = false;

  const keep = (key: string, compressed: Compressed): void => {
    kept.set(key, compressed);
    keptBytes += compressed.bytes.length;
    for (const [oldest, { bytes }] of kept) {
      if (keptBytes <= mostKeptBytes) return;
      kept.delete(oldest);
      keptBytes -= bytes.length;
    }
  };
  return (etag, body, how) => {
    const key = `${how} ${etag}`;
    const ready = kept.get(key);
    if (ready !== undefined) {
      // The one not asked for the longest goes first.
      kept.delete(key);
      kept.set(key, ready);
      return ready;
    }
    const size = Buffer.byteLength(body);
    if (busy || size < WORTH_IT_BYTES || size > LONGEST_BYTES) return null;
    busy = true;
    // A copy, because the body's memory may be written again meanwhile.
    compress(Buffer.from(body), how, (error, bytes) => {
      busy = false;
      if (error === null) keep(key, { bytes, etag: etagOf(bytes) });
    });
    return null;
  };
}

function compress(body: Uint8Array, how: Compression, done: (error: Error | null, bytes: Uint8Array) => void): void {
  if (how === 'gzip') gzip(body, { level: constants.Z_BEST_COMPRESSION }, done);
  else brotliCompress(body, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }, done);
}
