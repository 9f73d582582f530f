import type { z } from 'zod';
import { REASONS, type Reason } from './errors.ts';

/**
 * `audit` and `public`: Authorization is never read; they differ only in the text of the OpenAPI document. `optional_key`: a key changes
 * the answer. `staged_key`: the key may not be active yet, so the operation checks it. `key`: a merchant's key. `maintainer`: merchant 1's
 * key.
 */
export type Auth = 'audit' | 'public' | 'optional_key' | 'staged_key' | 'key' | 'maintainer';

export interface EndpointShape {
  /** In camelCase. The SDK method has the same name; the source file has it in kebab-case. */
  name: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Route with `:name` parameters. */
  path: string;
  summary: string;
  auth: Auth;
  params?: z.ZodType;
  /** Must be a strict object. Values arrive as strings, each at most once. */
  query?: z.ZodType;
  /** Must be a strict object. With `body_optional`, an absent body is read as {}. */
  body?: z.ZodType;
  body_optional?: true;
  /** Maximum body size in bytes. Default: BODY_LIMIT_BYTES. */
  body_limit?: number;
  /** Schema of the body for each success status. */
  answers: Partial<Record<200 | 201 | 202, z.ZodType>>;
  /** Reasons in addition to those of every route (see `reasonsOf`). */
  errors: readonly Reason[];
  /** `public`: strong ETag and short caching. Answers that need a key or concern payments are `private`. */
  cache: 'public' | 'private';
  /** Set if the endpoint accepts x402 payment headers. */
  payment?: true;
  /** Set if the client claims to have sent money. No refusal may then read as if none was sent. */
  claim?: true;
  /** Set if a 200 contains only the bytes of the goods when Accept is application/octet-stream. */
  bytes?: true;
  /** Top-level body fields that may contain a secret. A secret anywhere else in the body is refused. */
  secret_fields?: readonly string[];
}

/** Keeps the descriptor's literal types, from which the types of operations, SDK and documents are derived. */
export function endpoint<const E extends EndpointShape>(shape: E): E {
  return shape;
}

type OutputOf<T> = T extends z.ZodType ? z.output<T> : undefined;
type InputOf<T> = T extends z.ZodType ? z.input<T> : undefined;

/** Parsed parameters, as an operation receives them. */
export type ParamsOf<E extends EndpointShape> = OutputOf<E['params']>;
export type QueryOf<E extends EndpointShape> = OutputOf<E['query']>;
export type BodyOf<E extends EndpointShape> = OutputOf<E['body']>;
/** Parameters as a caller sends them. */
export type ParamsGiven<E extends EndpointShape> = InputOf<E['params']>;
export type QueryGiven<E extends EndpointShape> = InputOf<E['query']>;
export type BodyGiven<E extends EndpointShape> = InputOf<E['body']>;

type Statuses<E extends EndpointShape> = Extract<keyof E['answers'], 200 | 201 | 202>;

/** Bytes of known length that are read while they are sent. */
export interface SizedBytes extends AsyncIterable<Uint8Array> {
  readonly length: number;
}

/** Union of `{status, body}` that an operation may return. */
export type AnswerOf<E extends EndpointShape> = {
  [S in Statuses<E>]: {
    status: S;
    body: E['answers'][S] extends z.ZodType ? z.input<E['answers'][S]> : never;
    headers?: Readonly<Record<string, string>>;
    /** Bytes to send instead of the JSON body (accept: application/octet-stream). */
    bytes?: Uint8Array | SizedBytes;
  };
}[Statuses<E>];

/** Union of `{status, body}` that a client receives. */
export type ResultOf<E extends EndpointShape> = {
  [S in Statuses<E>]: { status: S; body: E['answers'][S] extends z.ZodType ? z.output<E['answers'][S]> : never };
}[Statuses<E>];

/** Whether the endpoint uses a delivery token. Only endpoints that sell goods do, because the token collects them. */
export function acceptsDeliveryToken({ errors }: Pick<EndpointShape, 'errors'>): boolean {
  return errors.includes('delivery_token_used');
}

/** Whether the endpoint uses a recovery slip. It does if the market may have lost the payment or intent that the request is about. */
export function acceptsRecoverySlip({ claim, errors }: Pick<EndpointShape, 'claim' | 'errors'>): boolean {
  return errors.includes('payment_may_be_lost') || (claim === true && errors.includes('intent_not_found'));
}

const ALWAYS: readonly Reason[] = [
  'malformed_request',
  'secret_in_payload',
  'invalid_query',
  'unexpected_fields',
  'headers_too_large',
  'rate_limited',
  'unavailable',
  'history_lost',
  'internal_error',
];
const WITH_BODY: readonly Reason[] = ['malformed_json', 'invalid_fields', 'body_too_large', 'unsupported_media_type'];

/** Lists every reason with which an endpoint may refuse, in the order of the error table. */
export function reasonsOf(endpoint: EndpointShape): Reason[] {
  const reasons = new Set<Reason>([...ALWAYS, ...endpoint.errors]);
  if (endpoint.body) for (const reason of WITH_BODY) reasons.add(reason);
  if (endpoint.params) reasons.add('not_found');
  if (endpoint.auth === 'key' || endpoint.auth === 'maintainer')
    for (const reason of ['key_required', 'rotation_required'] as const) reasons.add(reason);
  if (endpoint.auth !== 'audit' && endpoint.auth !== 'public') reasons.add('key_invalid');
  if (endpoint.auth === 'maintainer') reasons.add('maintainer_only');
  if (endpoint.payment) reasons.add('two_proofs');
  return REASONS.filter((reason) => reasons.has(reason));
}
