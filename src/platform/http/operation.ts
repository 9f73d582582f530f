import type { AnswerOf, BodyOf, EndpointShape, ParamsOf, QueryOf } from '../../contract/endpoint.ts';

/** Payment headers as sent, undecoded. Never logged, never stored. */
export interface PaymentHeaders {
  /** X-PAYMENT. */
  v1: string | null;
  /** PAYMENT-SIGNATURE. */
  v2: string | null;
  /** X-Delivery-Token. */
  deliveryToken: string | null;
  /** X-Recovery-Slip. */
  recoverySlip: string | null;
}

type CallerOf<E extends EndpointShape, Caller> = E['auth'] extends 'key' | 'maintainer'
  ? Caller
  : E['auth'] extends 'optional_key'
    ? Caller | null
    : null;

/** Input of an operation, checked by the endpoint's schemas. */
export interface Call<E extends EndpointShape, Caller> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The JSON body as sent, before schemas changed it. */
  rawBody: unknown;
  caller: CallerOf<E, Caller>;
  /** The bearer as sent; only for auth `staged_key`. */
  bearer: string | null;
  payment: PaymentHeaders;
  /** Path and query as sent, for absolute resource URLs. */
  path: string;
  /** The client prefers bytes over JSON (accept: application/octet-stream). */
  wantsBytes: boolean;
  /** Used for prepared answers; all others are sent plain. */
  acceptsGzip: boolean;
  requestId: string;
  /** Client address by the configured proxy rule; IPv6 is cut to its /64. */
  clientNetwork: string;
  /** Aborted when the client has gone. */
  signal: AbortSignal;
}

/** Ready bytes for public reads. No schema checks them: the code that made them is responsible for their content. */
export interface PreparedAnswer {
  status: 200;
  prepared: Prepared | PreparedStream;
}

export type Operation<E extends EndpointShape, Context, Caller> = (
  context: Context,
  call: Call<E, Caller>,
) => Promise<AnswerOf<E>>;

/** An operation that may return prepared bytes if its endpoint is a public read. */
export type ReadOperation<E extends EndpointShape, Context, Caller> = (
  context: Context,
  call: Call<E, Caller>,
) => Promise<AnswerOf<E> | (E['cache'] extends 'public' ? PreparedAnswer : never)>;

/** Bytes of a public read, ready to send. */
export interface Prepared {
  /** Strong, with quotes: names these bytes in this encoding. */
  etag: string;
  /** Names and values alternate: content-type, and content-encoding and vary where they apply. No length, ETag or caching. */
  head: readonly string[];
  body: Uint8Array;
  /** Call once when the bytes are no longer needed: their memory may be overwritten. */
  release?(): void;
}

/** The same for answers too long to hold at once: sent in pieces as fast as the client reads. ETag null: it has none. */
export interface PreparedStream {
  etag: string | null;
  head: readonly string[];
  /** Each piece then belongs to the answer: its memory must not be overwritten. */
  pieces: AsyncIterable<Uint8Array>;
}

/** A GET or HEAD with a valid head, without a body and without a misplaced secret. */
export interface MemoryRequest {
  /** Path and query as sent, from `/` on. */
  target: string;
  accept: string | undefined;
  acceptsGzip: boolean;
  /** Has an Authorization header. */
  hasKey: boolean;
  network(): string;
}

export interface MemoryAnswer extends Prepared {
  /** Name for the counts: the path's pattern, never with an id. */
  route: string;
}

/** Answers at once; null: the framework path answers. Must neither throw nor wait. */
export type ReadFromMemory = (request: MemoryRequest) => MemoryAnswer | null;
