import type { AnswerOf, BodyOf, EndpointShape, ParamsOf, QueryOf } from '../../contract/endpoint.ts';
import type { Prepared, PreparedStream } from './prepared.ts';

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
