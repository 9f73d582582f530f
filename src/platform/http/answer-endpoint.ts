import { z } from 'zod';
import type { Auth, EndpointShape, SizedBytes } from '../../contract/endpoint.ts';
import { Refusal } from '../refusal.ts';
import type { SecretGuard } from '../secrets.ts';
import { cacheAnswer } from './cache-answer.ts';
import {
  acceptsGzip,
  type Identification,
  type Identified,
  identifyCaller,
  readPaymentHeaders,
  readSlip,
  wantsBytes,
} from './caller-headers.ts';
import { refuseIssues } from './failure.ts';
import { guardBody } from './guard-request.ts';
import { type Incoming, type Outgoing, readBody, readQuery, releaseBody } from './message.ts';
import type { Call, Prepared, PreparedAnswer, PreparedStream } from './operation.ts';

type AnyCall = Call<EndpointShape, unknown>;

/** An operation without its types; the type of the server's options has checked that it fits its endpoint. */
export type AnyOperation = (call: AnyCall) => Promise<AnyAnswer | PreparedAnswer>;

interface AnyAnswer {
  status: 200 | 201 | 202;
  body: unknown;
  headers?: Readonly<Record<string, string>>;
  bytes?: Uint8Array | SizedBytes;
}

export interface EndpointRoute {
  endpoint: EndpointShape;
  operation: AnyOperation;
  preSchema?: ((rawBody: unknown) => Refusal | null) | undefined;
}

export interface EndpointEntry<Caller> extends Identification<Caller> {
  guard: SecretGuard;
  callerId(caller: Caller): bigint;
}

const NO_PROOF = { v1: null, v2: null, deliveryToken: null, downloadToken: null };
const NUL = '\u0000';

/**
 * Answers a request to an endpoint. Runs the secret guard on the body, identifies the caller, checks the input, runs the operation and
 * checks its answer. URL and headers were guarded before.
 */
export async function answerEndpoint<Caller>(
  entry: EndpointEntry<Caller>,
  route: EndpointRoute,
  incoming: Incoming,
  knownCaller?: Caller,
): Promise<Outgoing> {
  const { endpoint } = route;
  const read = tryToRead(endpoint, incoming);
  guardBody(entry.guard, read.refusal ? incoming.body : read.value, secretFieldsOf(endpoint, read.value));
  const { caller, bearer } = await identifyAndNote(entry, endpoint.auth, incoming, knownCaller);
  const { rawHeaders } = incoming;
  const payment = endpoint.payment ? readPaymentHeaders(rawHeaders) : { ...NO_PROOF, ...readSlip(rawHeaders) };
  const params = checkParams(endpoint, incoming.params);
  const query = checkQuery(endpoint, incoming.target.query);
  if (read.refusal) throw read.refusal;
  const early = route.preSchema?.(read.value);
  if (early) throw early;
  const body = checkBody(endpoint, read.value);
  // The schemas produced these values, but only the operation knows their types.
  const call = {
    params,
    query,
    body,
    rawBody: read.value,
    caller,
    bearer,
    payment,
    path: incoming.target.whole,
    wantsBytes: wantsBytes(incoming.headers.accept),
    acceptsGzip: acceptsGzip(incoming.headers['accept-encoding']),
    requestId: incoming.requestId,
    clientNetwork: incoming.clientNetwork,
    signal: incoming.signal,
  } as AnyCall;
  const answer = await route.operation(call);
  const outgoing =
    'prepared' in answer
      ? presentPrepared(endpoint, answer.prepared)
      : presentAnswer(endpoint, answer, call.wantsBytes);
  return cacheAnswer(outgoing, endpoint.cache, incoming.headers['if-none-match']);
}

/** Identifies the caller as the route requires, and notes it for the access log. */
async function identifyAndNote<Caller>(
  entry: EndpointEntry<Caller>,
  auth: Auth,
  incoming: Incoming,
  known?: Caller,
): Promise<Identified<Caller>> {
  const identified = await identifyCaller(auth, { rawHeaders: incoming.rawHeaders, known }, entry);
  if (identified.caller !== null) incoming.notes['merchant_id'] = entry.callerId(identified.caller);
  return identified;
}

/** Identifies the owner of the key in Authorization for a route that is no endpoint. */
export async function identifyKeyOwner<Caller>(entry: EndpointEntry<Caller>, incoming: Incoming): Promise<Caller> {
  const { caller } = await identifyAndNote(entry, 'key', incoming);
  if (caller === null) throw new Refusal('key_required');
  return caller;
}

/** Returns the fields that may hold a secret in the requested step. In other steps the same field may not. */
function secretFieldsOf({ body, secret_fields: fields }: EndpointShape, value: unknown): readonly string[] | undefined {
  if (fields === undefined || !(body instanceof z.ZodDiscriminatedUnion)) return fields;
  const { action } = (value ?? {}) as { action?: unknown };
  const step = body.options.find(
    (option) => option instanceof z.ZodObject && option.shape['action']?.safeParse(action).success === true,
  );
  return step instanceof z.ZodObject ? fields.filter((field) => Object.hasOwn(step.shape, field)) : [];
}

/** Returns a refusal instead of throwing it, because the secret guard must run before the form of the body is reported. */
function tryToRead(endpoint: EndpointShape, incoming: Incoming): { value: unknown; refusal?: Refusal } {
  const { body, headers } = incoming;
  if (!endpoint.body) {
    if (body.length === 0) return { value: undefined };
    return { value: undefined, refusal: new Refusal('malformed_request', { detail: 'This route takes no body.' }) };
  }
  if (body.length === 0) {
    if (endpoint.body_optional) return { value: {} };
    return { value: undefined, refusal: new Refusal('malformed_json', { detail: 'The body is missing.' }) };
  }
  try {
    return { value: readBody(body, headers) };
  } catch (error) {
    if (error instanceof Refusal) return { value: undefined, refusal: error };
    throw error;
  }
}

/** A malformed id is answered like an unknown one. */
function checkParams(endpoint: EndpointShape, params: Readonly<Record<string, string>>): unknown {
  if (!endpoint.params) return undefined;
  const checked = endpoint.params.safeParse(params);
  if (!checked.success || Object.values(params).some((value) => value.includes(NUL))) throw new Refusal('not_found');
  return checked.data;
}

function checkQuery(endpoint: EndpointShape, text: string): unknown {
  const values = readQuery(text);
  if (endpoint.query) {
    const checked = endpoint.query.safeParse(values);
    if (!checked.success) throw refuseIssues(checked.error.issues, 'invalid_query');
    return checked.data;
  }
  const keys = Object.keys(values);
  if (keys.length > 0) {
    throw refuseIssues([{ code: 'unrecognized_keys', keys, path: [], message: '' }], 'invalid_query');
  }
  return undefined;
}

function checkBody(endpoint: EndpointShape, value: unknown): unknown {
  if (!endpoint.body) return undefined;
  const checked = endpoint.body.safeParse(value);
  if (!checked.success) throw refuseIssues(checked.error.issues, 'invalid_fields');
  return checked.data;
}

/** Sends only the fields in the answer's schema and leaves out all others. */
function presentAnswer(endpoint: EndpointShape, answer: AnyAnswer, asBytes: boolean): Outgoing {
  const checked = endpoint.answers[answer.status]?.safeParse(answer.body);
  if (!checked?.success) {
    const places = checked?.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ');
    throw new Error(
      `${endpoint.name} answered ${answer.status} with what its schema refuses: ${places ?? 'no such status'}`,
    );
  }
  const { status, headers } = answer;
  const bytes = asBytes ? answer.bytes : undefined;
  if (bytes === undefined) {
    return {
      status,
      headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(checked.data),
    };
  }
  return {
    status,
    headers: { ...headers, 'content-type': 'application/octet-stream', 'content-length': String(bytes.length) },
    body: bytes,
  };
}

function presentPrepared(endpoint: EndpointShape, prepared: Prepared | PreparedStream): Outgoing {
  const outgoing = sendPrepared(prepared);
  if (endpoint.cache === 'public') return outgoing;
  releaseBody(outgoing);
  throw new Error(`${endpoint.name} is no public read, so its answer may not pass its schema by`);
}

function sendPrepared(prepared: Prepared | PreparedStream): Outgoing {
  const { etag, head } = prepared;
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < head.length; at += 2) headers[head[at] ?? ''] = head[at + 1] ?? '';
  if ('pieces' in prepared) return { status: 200, headers, etag, body: prepared.pieces };
  return { status: 200, headers, etag, body: prepared.body, release: () => prepared.release?.() };
}
