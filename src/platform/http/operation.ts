import type { AnswerOf, BodyOf, EndpointShape, ParamsOf, QueryOf } from '../../contract/endpoint.ts';

/** Payment headers as they came, undecoded. Never logged, never stored. */
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

/** What an operation is called with: everything has passed the endpoint's schemas. */
export interface Call<E extends EndpointShape, Caller> {
  params: ParamsOf<E>;
  query: QueryOf<E>;
  body: BodyOf<E>;
  /** The JSON body as sent, before schemas changed anything in it. */
  rawBody: unknown;
  caller: CallerOf<E, Caller>;
  /** Only where auth is `staged_key`: the bearer as sent. */
  bearer: string | null;
  payment: PaymentHeaders;
  /** Path and query as sent, for absolute resource URLs. */
  path: string;
  /** The client prefers bytes over JSON (accept: application/octet-stream). */
  wantsBytes: boolean;
  /** For prepared answers; everything else is sent as it is. */
  acceptsGzip: boolean;
  requestId: string;
  /** Client address by the configured proxy rule; IPv6 is cut to its /64. */
  clientNetwork: string;
  /** Aborted when the client has gone. */
  signal: AbortSignal;
}

/** Bytes in place of a body, for public reads: no schema looks at them, so the code that made them answers for what they hold. */
export interface PreparedAnswer {
  status: 200;
  prepared: Prepared | PreparedStream;
}

export type Operation<E extends EndpointShape, Context, Caller> = (
  context: Context,
  call: Call<E, Caller>,
) => Promise<AnswerOf<E>>;

/** An operation that may answer with prepared bytes, where its endpoint is a public read. */
export type ReadOperation<E extends EndpointShape, Context, Caller> = (
  context: Context,
  call: Call<E, Caller>,
) => Promise<AnswerOf<E> | (E['cache'] extends 'public' ? PreparedAnswer : never)>;

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
