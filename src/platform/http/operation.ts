import type { AnswerOf, BodyOf, EndpointShape, ParamsOf, QueryOf } from '../../contract/endpoint.ts';

/** Payment headers as sent, undecoded. Must be neither logged nor stored. */
export interface PaymentHeaders {
  /** X-PAYMENT. */
  v1: string | null;
  /** PAYMENT-SIGNATURE. */
  v2: string | null;
  /** X-Delivery-Token. */
  deliveryToken: string | null;
  /** X-Download-Token. */
  downloadToken: string | null;
  /** X-Recovery-Slip. */
  recoverySlip: string | null;
}

type CallerOf<E extends EndpointShape, Caller> = E['auth'] extends 'key' | 'maintainer'
  ? Caller
  : E['auth'] extends 'optional_key'
    ? Caller | null
    : null;

/** Input of an operation, after the endpoint's schemas checked it. */
export interface Call<E extends EndpointShape, Caller> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The JSON body as sent, before the schemas changed it. */
  rawBody: unknown;
  caller: CallerOf<E, Caller>;
  /** The bearer as sent. Only for auth `staged_key`. */
  bearer: string | null;
  payment: PaymentHeaders;
  /** Path and query as sent, used to build absolute resource URLs. */
  path: string;
  /** True if the client prefers bytes over JSON (accept: application/octet-stream). */
  wantsBytes: boolean;
  /** For operations that prepare compressed bytes. The server itself compresses other public answers. */
  acceptsGzip: boolean;
  requestId: string;
  /** Client address by the configured proxy rule, with IPv6 cut to its /64. */
  clientNetwork: string;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
}

/** Bytes ready to send for public reads. No schema checks them, so the code that makes them is responsible for their content. */
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

export interface Prepared {
  /** Strong, with quotes. Identifies these bytes in this encoding. */
  etag: string;
  /** Alternating names and values: content-type, and content-encoding and vary where they apply. No length, ETag or caching. */
  head: readonly string[];
  body: Uint8Array;
  /** Call once when the bytes are no longer needed, because their memory may then be overwritten. */
  release?(): void;
}

/** Like `Prepared`, for answers too long to hold in memory. Sent in pieces as fast as the client reads. ETag null: there is none. */
export interface PreparedStream {
  etag: string | null;
  head: readonly string[];
  /** The answer owns each piece, so its memory must not be overwritten. */
  pieces: AsyncIterable<Uint8Array>;
}

/** A GET or HEAD with a valid head, without a body and without a misplaced secret. */
export interface MemoryRequest {
  /** Path and query as sent, starting with `/`. */
  target: string;
  accept: string | undefined;
  acceptsGzip: boolean;
  /** True if there is an Authorization header. */
  hasKey: boolean;
  network(): string;
}

export interface MemoryAnswer extends Prepared {
  /** Name under which the read is counted: the path's pattern, never with an id. */
  route: string;
}

/** Answers at once, or returns null to let the framework answer. Must neither throw nor wait. */
export type ReadFromMemory = (request: MemoryRequest) => MemoryAnswer | null;
