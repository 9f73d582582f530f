import type { z } from 'zod';
import { REASONS, type Reason } from './errors.ts';

/**
 * Who may call. `audit`: public and blind to Authorization (W1). `public`: no key needed, none looked at. `optional_key`: a key
 * changes the answer. `staged_key`: Authorization may carry a key that is not active yet; the operation judges it. `key`: a merchant's
 * key. `maintainer`: merchant 1's.
 */
export type Auth = 'audit' | 'public' | 'optional_key' | 'staged_key' | 'key' | 'maintainer';

export interface EndpointShape {
  /** The operation's name: camelCase, the same in the SDK and as file name in kebab-case. */
  name: string;
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with `:name` parameters. */
  path: string;
  summary: string;
  auth: Auth;
  params?: z.ZodType;
  /** A strict object whose values arrive as strings, each given at most once. */
  query?: z.ZodType;
  /** A strict object. `body_optional`: an absent body is read as {}. */
  body?: z.ZodType;
  body_optional?: true;
  /** Bytes; the default is BODY_LIMIT_BYTES. */
  body_limit?: number;
  /** Success statuses and what each carries. */
  answers: Partial<Record<200 | 201 | 202, z.ZodType>>;
  /** Reasons beyond those that every route may give. */
  errors: readonly Reason[];
  /** `public`: strong ETag and short caching. Anything protected, private or about a payment is `private`. */
  cache: 'public' | 'private';
  /** Takes x402 payment headers. */
  payment?: true;
  /** The client says that money was sent: no refusal may read as if none was. */
  claim?: true;
  /** Who asks for application/octet-stream gets the goods of a 200 as bytes alone. */
  bytes?: true;
  /** Fields at the top of the body where a secret belongs; anywhere else one is refused (W1). */
  secret_fields?: readonly string[];
}

/** Keeps the literal types of a descriptor, so that operations, SDK and documents are typed from it. */
export function endpoint<const E extends EndpointShape>(shape: E): E {
  return shape;
}

type Read<T> = T extends z.ZodType ? z.output<T> : undefined;
type InputOf<T> = T extends z.ZodType ? z.input<T> : undefined;

/** What an operation receives, after the schemas. */
export type ParamsOf<E extends EndpointShape> = Read<E['params']>;
export type QueryOf<E extends EndpointShape> = Read<E['query']>;
export type BodyOf<E extends EndpointShape> = Read<E['body']>;
/** What a caller hands in. */
export type ParamsGiven<E extends EndpointShape> = InputOf<E['params']>;
export type QueryGiven<E extends EndpointShape> = InputOf<E['query']>;
export type BodyGiven<E extends EndpointShape> = InputOf<E['body']>;

type Statuses<E extends EndpointShape> = Extract<keyof E['answers'], 200 | 201 | 202>;

/** The union of `{status, body}` that an operation may answer. */
export type AnswerOf<E extends EndpointShape> = {
  [S in Statuses<E>]: {
    status: S;
    body: E['answers'][S] extends z.ZodType ? z.input<E['answers'][S]> : never;
    headers?: Readonly<Record<string, string>>;
    /** Bytes to send in place of the JSON body (accept: application/octet-stream). */
    bytes?: Uint8Array;
  };
}[Statuses<E>];

/** What a client reads. */
export type ResultOf<E extends EndpointShape> = {
  [S in Statuses<E>]: { status: S; body: E['answers'][S] extends z.ZodType ? z.output<E['answers'][S]> : never };
}[Statuses<E>];

/** Where a delivery token has an effect: goods are bought, and whose client has the token collects them. */
export function takesToken({ errors }: Pick<EndpointShape, 'errors'>): boolean {
  return errors.includes('delivery_token_used');
}

/** Where a payment or an intent may be asked about that the market has lost. */
export function takesSlip({ claim, errors }: Pick<EndpointShape, 'claim' | 'errors'>): boolean {
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

/** Every reason that an endpoint may answer: its own, and those that its shape brings along. In the order of the table. */
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
