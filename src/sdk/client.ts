import type { BodyGiven, EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../contract/endpoint.ts';
import { type Endpoints, endpoints } from '../contract/index.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { UnreadableAnswer } from './errors.ts';
import { type LooseAnswer, readAnswer } from './read-answer.ts';
import { createServerClock, type ServerClock } from './server-clock.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Room for the largest page of 50 listings and for an artifact whose every character is escaped. */
const DEFAULT_RESPONSE_BYTES = 16_777_216;

export interface ClientOptions {
  /** Where the site is, for instance `https://market.example`. */
  baseUrl: string;
  /**
   * The address that the site calls itself, where it is reached under another one, as through a tunnel: what is signed for it names this
   * address too. Without it nothing is signed for a site that calls itself anything but `baseUrl`.
   */
  callsItself?: string;
  /** The key that this very site has given: a merchant's, or a resident's. Sent only where the contract has a use for it. */
  key?: string;
  environment?: Partial<Environment>;
  /** For one call, from its start to the last byte of the answer. */
  timeoutMs?: number;
  /** Larger answers are refused. Raise it to read a large store without a limit. */
  maxResponseBytes?: number;
}

type Method<E extends EndpointShape> =
  Record<never, never> extends Given<E>
    ? (given?: Given<E>) => Promise<Answered<E>>
    : (given: Given<E>) => Promise<Answered<E>>;

/** One method per endpoint of a site's contract. Each resolves to a success and throws `MarketError` or `UnreadableAnswer`. */
export type ClientOf<E extends Readonly<Record<string, EndpointShape>>> = { readonly [N in keyof E]: Method<E[N]> } & {
  readonly baseUrl: string;
  /** Null where the caller did not say. */
  readonly callsItself: string | null;
  readonly environment: Environment;
  readonly clock: ServerClock;
};

/** Of the market. */
export type Client = ClientOf<Endpoints>;

export function createClient(options: ClientOptions): Client {
  return createClientOf(endpoints, options);
}

/** A client for any table of endpoints: the market's, or a city's. */
export function createClientOf<E extends Readonly<Record<string, EndpointShape>>>(
  table: E,
  options: ClientOptions,
): ClientOf<E> {
  const environment = { ...systemEnvironment, ...options.environment };
  const config = {
    baseUrl: readBaseUrl(options.baseUrl),
    key: options.key,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxResponseBytes: options.maxResponseBytes ?? DEFAULT_RESPONSE_BYTES,
  };
  const clock = createServerClock(environment);
  const methods = Object.fromEntries(
    Object.entries(table).map(([name, endpoint]) => [
      name,
      (given: LooseGiven = {}) => callEndpoint(endpoint, given, { ...config, clock }, environment),
    ]),
  );
  const callsItself = options.callsItself === undefined ? null : readBaseUrl(options.callsItself);
  // The types above are derived from the same table that the methods are made from.
  return { ...methods, baseUrl: config.baseUrl, callsItself, environment, clock } as unknown as ClientOf<E>;
}

interface CallConfig {
  baseUrl: string;
  key: string | undefined;
  timeoutMs: number;
  maxResponseBytes: number;
  clock: ServerClock;
}

async function callEndpoint(
  endpoint: EndpointShape,
  given: LooseGiven,
  config: CallConfig,
  environment: Environment,
): Promise<LooseAnswer> {
  const { url, init } = buildRequest(endpoint, given, config);
  const deadline = environment.deadline(config.timeoutMs);
  init.signal = given.signal === undefined ? deadline : AbortSignal.any([deadline, given.signal]);
  let response: Response;
  try {
    response = await environment.fetch(url, init);
  } catch (cause) {
    throw new UnreadableAnswer('no_answer', own`no answer came from ${ofOwner(config.baseUrl)}`, { cause });
  }
  // A cache may give an old answer to a GET, with the time of that answer.
  if (endpoint.method !== 'GET') config.clock.note(response.headers.get('date'));
  return readAnswer(endpoint, response, config.maxResponseBytes);
}

/** Where a call goes and with what. */
function buildRequest(
  endpoint: EndpointShape,
  given: LooseGiven,
  config: { baseUrl: string; key: string | undefined },
): { url: string; init: RequestInit } {
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' };
  const bearer = bearerFor(endpoint, given, config.key);
  if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`;
  if (endpoint.payment === true) {
    if (given.payment !== undefined) headers[given.payment.name] = given.payment.value;
    if (given.deliveryToken !== undefined) headers['X-Delivery-Token'] = given.deliveryToken;
  }
  const mayBeLost = endpoint.payment === true || endpoint.claim === true;
  if (mayBeLost && given.recoverySlip !== undefined) headers['X-Recovery-Slip'] = given.recoverySlip;
  // A redirect would carry key and proof to an address that the caller did not choose.
  const init: RequestInit = { method: endpoint.method, headers, redirect: 'manual' };
  if (given.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(given.body);
  }
  return { url: config.baseUrl + fillPath(endpoint.path, given.params ?? {}) + queryText(given.query ?? {}), init };
}

/** The origin (and path prefix, if any) without the last slash. */
export function readBaseUrl(given: string): string {
  const url = new URL(given);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('baseUrl must be an http or https address without credentials, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

// The key goes where the contract has a use for it and nowhere else: audit routes never see one (W1).
function bearerFor(endpoint: EndpointShape, given: LooseGiven, key: string | undefined): string | undefined {
  if (endpoint.auth === 'staged_key') return given.key;
  const takesKey = endpoint.auth === 'key' || endpoint.auth === 'optional_key' || endpoint.auth === 'maintainer';
  return takesKey ? key : undefined;
}

function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const text = String(params[name] ?? '');
    // Dot segments survive percent-encoding and would lead to another route.
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} cannot stand in a path`);
    return encodeURIComponent(text);
  });
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Values of a path or a query go out as text, so numbers may be handed in where the contract asks for text. */
type Spelled<T> = T extends object ? { [K in keyof T]: string extends T[K] ? T[K] | number | bigint : T[K] } : T;

type Part<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : Record<never, never> extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };

type BodyPart<E extends EndpointShape> = E extends { body_optional: true }
  ? { body?: BodyGiven<E> }
  : Part<'body', BodyGiven<E>>;

export interface PaymentHeader {
  name: 'X-PAYMENT' | 'PAYMENT-SIGNATURE';
  value: string;
}

type PaymentPart<E extends EndpointShape> = E extends { payment: true }
  ? {
      payment?: PaymentHeader | undefined;
      /** Sent as X-Delivery-Token. */
      deliveryToken?: string | undefined;
    }
  : unknown;

type SlipPart<E extends EndpointShape> = E extends { payment: true } | { claim: true }
  ? {
      /** Sent as X-Recovery-Slip. */
      recoverySlip?: string | undefined;
    }
  : unknown;

/** A key that is staged belongs to one call, not to the client. */
type KeyPart<E extends EndpointShape> = E['auth'] extends 'staged_key' ? { key?: string } : unknown;

/** What a method of the client takes. */
export type Given<E extends EndpointShape> = Part<'params', Spelled<ParamsGiven<E>>> &
  Part<'query', Spelled<QueryGiven<E>>> &
  BodyPart<E> &
  PaymentPart<E> &
  SlipPart<E> &
  KeyPart<E> & { signal?: AbortSignal | undefined };

/** What it resolves to: every success by status. Refusals are thrown. */
export type Answered<E extends EndpointShape> = ResultOf<E> & { requestId: string | null };

/** The same as `Given`, as the untyped machinery beneath sees it. */
export interface LooseGiven {
  params?: Readonly<Record<string, unknown>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  payment?: PaymentHeader | undefined;
  deliveryToken?: string | undefined;
  recoverySlip?: string | undefined;
  key?: string;
  signal?: AbortSignal | undefined;
}
