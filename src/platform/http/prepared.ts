import type { IncomingHttpHeaders } from 'node:http';
import type { Parts } from './incoming.ts';

/** Bytes of a public read that are ready to be sent. */
export interface Prepared {
  /** Strong, quotes included: names these very bytes in this encoding. */
  etag: string;
  /** Names and values in turn: content-type, and content-encoding and vary where they apply. Not length, ETag or caching. */
  head: readonly string[];
  body: Uint8Array;
  /** To be called once, when the bytes are not needed any more: their memory may be written again. */
  release?(): void;
}

/** The same where it is too long to be held at once; sent in pieces, as fast as the client reads. Null ETag: it has none. */
export interface PreparedStream {
  etag: string | null;
  head: readonly string[];
  /** Each piece belongs to the answer from then on: its memory may not be written again. */
  pieces: AsyncIterable<Uint8Array>;
}

/** What a shortcut may look at. */
export interface QuickRead {
  /** Path and query as sent, from `/` on. */
  target: string;
  accept: string | undefined;
  ifNoneMatch: string | undefined;
  acceptsGzip: boolean;
}

/** Bytes that lie in pieces, one behind the other, so that those that stay the same need not be written again. */
export interface PreparedPieces extends Omit<Prepared, 'body'> {
  pieces: readonly Uint8Array[];
}

/** 304 needs no bytes. */
export type QuickAnswer = (
  | ({ status: 200 } & (Prepared | PreparedPieces))
  | { status: 304; etag: string; head: readonly string[] }
) & {
  /** Under which name it is counted: the path's pattern, never an id. */
  route?: string;
};

/** A short body that was read in full, and whose head is sound; nothing has looked for secrets in the body. */
export interface QuickBody {
  headers: IncomingHttpHeaders;
  body: Uint8Array;
}

/** What is sent back for it; kept by nobody. */
export interface QuickParts {
  /** Type, and content-encoding and vary where they apply. */
  headers: Readonly<Record<string, string>>;
  parts: Parts;
}

export type QuickPost = (post: QuickBody) => QuickParts | null;

/** Answers at once, or null: then the request goes the long way. Must not throw and must not wait. */
export type Shortcut = (read: QuickRead) => QuickAnswer | null;
