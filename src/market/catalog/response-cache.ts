import { gzipSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/clock.ts';
import { etagOf } from '../../platform/http/cache-answer.ts';
import type { Prepared } from '../../platform/http/operation.ts';
import type { PageBuffers } from './fragments/page-buffers.ts';
import type { PageBytes } from './fragments/page-bytes.ts';

/** Names what a response was made of: the same version means the same bytes. */
export type Version = number | string;

export interface CachedResponse {
  version: Version;
  /** When it was last known to match its version. */
  checkedAt: number;
  etag: string;
  head: readonly string[];
  readonly page: PageBytes;
  /** Answers in progress. Once the cache drops the response, the last of them releases its memory. */
  users: number;
  dropped: boolean;
}

/** Caches finished responses, JSON and pages alike; drops the least recently used first. */
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

/** The bytes of an entry besides its page, so that the number of small ones is bounded too. */
const ENTRY_BYTES = 512;
/** One percent larger than the usual level, in two thirds of the time; few pages are longer than this window. */
const PACKING = { level: 4, windowBits: 14, memLevel: 7 };

export function createResponseCache(options: {
  clock: Clock;
  /** Room for all responses; it changes as listings take more or less of the budget. */
  mostBytes(): number;
  buffers(): PageBuffers;
}): ResponseCache {
  const { clock, mostBytes, buffers } = options;
  const responses = new LRUCache<string, CachedResponse>({
    // The real bound is `mostBytes`, since it moves.
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ page }, key) => ENTRY_BYTES + key.length + page.takenBytes,
    dispose: (response) => {
      response.dropped = true;
      giveBack(response);
    },
  });
  const trim = (): void => {
    const most = mostBytes();
    while (responses.calculatedSize > most) responses.pop();
  };
  const put: ResponseCache['put'] = (key, response) => {
    const entry: CachedResponse = { ...response, checkedAt: clock.now(), users: 0, dropped: false };
    // Count a user until the entry is stored: an entry larger than the room would otherwise be released at once.
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
      const name = written.acceptsGzip ? `${key}\ngzip` : key;
      const cached = responses.get(name);
      if (cached?.version === version) return useResponse(cached);
      return useResponse(put(name, { version, ...writeText(buffers(), written) }));
    },
    trim,
    clear: () => responses.clear(),
    bytes: () => responses.calculatedSize,
  };
}

/** Returns the response for one answer, which must release it. */
export function useResponse(response: CachedResponse): Prepared {
  response.users += 1;
  const { etag, head, page } = response;
  let released = false;
  const release = (): void => {
    if (released) return;
    released = true;
    response.users -= 1;
    giveBack(response);
  };
  return { etag, head, body: page.body, release };
}

function giveBack({ dropped, users, page }: CachedResponse): void {
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
  const bytes = gzipSync(plain.bytes.subarray(0, length), PACKING);
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
