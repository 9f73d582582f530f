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

/** A GET or HEAD with a plain head: sound, without a secret out of place, without a body. */
export interface MemoryRequest {
  /** Path and query as sent, from `/` on. */
  target: string;
  accept: string | undefined;
  acceptsGzip: boolean;
  /** Carries an Authorization header. */
  hasKey: boolean;
  /** The network of the client, as budgets count it. */
  network(): string;
}

export interface MemoryAnswer extends Prepared {
  /** Under which name it is counted: the path's pattern, never an id. */
  route: string;
}

/** Answers at once, or null: then the framework path answers. It must neither throw nor wait. */
export type ReadFromMemory = (request: MemoryRequest) => MemoryAnswer | null;
