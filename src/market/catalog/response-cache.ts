import { gzipSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import { etagOf } from '../../platform/http/cache-answer.ts';
import type { Prepared } from '../../platform/http/operation.ts';
import type { PageBuffers } from './fragments/page-buffers.ts';
import type { PageBytes } from './fragments/page-bytes.ts';

/** Identifies the data a response was made from: equal versions mean equal bytes. */
export type Version = number | string;

export interface CachedResponse {
  version: Version;
  /** When the response was last known to match its version. */
  checkedAt: number;
  etag: string;
  head: readonly string[];
  readonly page: PageBytes;
  /** Number of clients being sent this response. Once the cache has dropped it, the last of them releases its memory. */
  users: number;
  dropped: boolean;
}

/** Caches finished responses (JSON and HTML) and drops the least recently used first. */
export interface ResponseCache {
  get(key: string): CachedResponse | undefined;
  put(key: string, response: Pick<CachedResponse, 'version' | 'etag' | 'head' | 'page'>): CachedResponse;
  text(key: string, version: Version, written: WrittenText): Prepared;
  trim(): void;
  clear(): void;
  bytes(): number;
}

export interface WrittenText {
  acceptsGzip: boolean;
  write(): { head: readonly string[]; text: string };
}

/** Overhead of an entry without its page. Counting it also bounds the number of small entries. */
const ENTRY_BYTES = 512;
/** Output is 1 % larger than with zlib's defaults, in two thirds of the time. Few pages are longer than this window. */
const GZIP_OPTIONS = { level: 4, windowBits: 14, memLevel: 7 };

export function createResponseCache(options: {
  clock: Clock;
  /** Limit for all responses. It varies with the memory that listings take. */
  mostBytes(): number;
  buffers(): PageBuffers;
}): ResponseCache {
  const { clock, mostBytes, buffers } = options;
  const responses = new LRUCache<string, CachedResponse>({
    // The real limit is `mostBytes`, which varies; `trim` applies it.
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ page }, key) => ENTRY_BYTES + key.length + page.takenBytes,
    dispose: (response) => {
      response.dropped = true;
      releaseIfUnused(response);
    },
  });
  const trim = (): void => {
    const most = mostBytes();
    while (responses.calculatedSize > most) responses.pop();
  };
  const put: ResponseCache['put'] = (key, response) => {
    const entry: CachedResponse = { ...response, checkedAt: clock.now(), users: 0, dropped: false };
    // Count a user while storing, because an entry above the limit is dropped at once and would be released.
    entry.users += 1;
    responses.set(key, entry);
    trim();
    entry.users -= 1;
    return entry;
  };
  return {
    get: (key) => responses.get(key),
    put,
    text: (key, version, written) => {
      const cacheKey = written.acceptsGzip ? `${key}\ngzip` : key;
      const cached = responses.get(cacheKey);
      if (cached?.version === version) return useResponse(cached);
      return useResponse(put(cacheKey, { version, ...writeText(buffers(), written) }));
    },
    trim,
    clear: () => responses.clear(),
    bytes: () => responses.calculatedSize,
  };
}

/** Returns the response for sending it once. The sender must call `release`. */
export function useResponse(response: CachedResponse): Prepared {
  response.users += 1;
  const { etag, head, page } = response;
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    response.users -= 1;
    releaseIfUnused(response);
  };
  return { etag, head, body: page.body, release };
}

function releaseIfUnused({ dropped, users, page }: CachedResponse): void {
  if (dropped && users === 0) page.release();
}

function writeText(
  buffers: PageBuffers,
  { acceptsGzip, write }: WrittenText,
): Pick<CachedResponse, 'etag' | 'head' | 'page'> {
  const { head, text } = write();
  const plain = buffers.take(Buffer.byteLength(text));
  const length = plain.bytes.write(text);
  if (!acceptsGzip) return { ...finishedPage(plain, length), head };
  const bytes = gzipSync(plain.bytes.subarray(0, length), GZIP_OPTIONS);
  plain.release();
  const packed = buffers.take(bytes.length);
  bytes.copy(packed.bytes);
  return { ...finishedPage(packed, bytes.length), head: [...head, 'content-encoding', 'gzip'] };
}

function finishedPage(
  { bytes, release }: ReturnType<PageBuffers['take']>,
  length: number,
): { etag: string; page: PageBytes } {
  const body = bytes.subarray(0, length);
  return { etag: etagOf(body), page: { body, takenBytes: bytes.length, release } };
}
