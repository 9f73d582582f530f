import type { BodyGiven, EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../contract/endpoint.ts';
import { type Endpoints, endpoints } from '../contract/index.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { MarketError, UnreadableAnswer } from './errors.ts';
import type { Bytes } from './goods/byte-source.ts';
import { type DeliveredGoods, type DownloadOptions, downloadGoods } from './goods/download.ts';
import type { UploadLink } from './goods/link.ts';
import { type Upload, type UploadOptions, uploadBytes } from './goods/upload.ts';
import { type LooseAnswer, readAnswer } from './read-answer.ts';
import { createServerClock, type ServerClock } from './server-clock.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Large enough for the largest page of 50 listings, and for an artifact with every character escaped. */
const DEFAULT_RESPONSE_BYTES = 16_777_216;

export interface ClientOptions {
  /** Address of the market or city, such as `https://market.example`. */
  baseUrl: string;
  /**
   * The server's own address, if you reach the server under another one, for instance through a tunnel. Signatures may then name this
   * address. If it is omitted, no signature that names the server is made for a server that calls itself anything but `baseUrl`.
   */
  callsItself?: string;
  /** A merchant's or resident's key, issued by this server. Sent only to endpoints that accept one. */
  key?: string;
  environment?: Partial<Environment>;
  /** Time limit for one call in milliseconds, from its start to the last byte of the answer. */
  timeoutMs?: number;
  /** Larger answers are refused. Raise it to read a large store in one page. */
  maxResponseBytes?: number;
}

type Method<E extends EndpointShape> =
  Record<never, never> extends Given<E>
    ? (args?: Given<E>) => Promise<Answered<E>>
    : (args: Given<E>) => Promise<Answered<E>>;

/** One method per endpoint. Each resolves to a success, or throws `MarketError` or `UnreadableAnswer`. */
export type ClientOf<E extends Readonly<Record<string, EndpointShape>>> = { readonly [N in keyof E]: Method<E[N]> } & {
  readonly baseUrl: string;
  /** Null if not set. */
  readonly callsItself: string | null;
  readonly environment: Environment;
  readonly clock: ServerClock;
};

export interface Client extends ClientOf<Endpoints> {
  /** Uploads goods of any size, to be listed with `listGoods({ upload })`. Needs a key. */
  upload(bytes: Bytes, options?: UploadOptions): Promise<Upload>;
  /**
   * Streams goods that are a file to `to`, and checks them. Takes a delivery of `buy`, or the ID of a listing whose goods are free or belong
   * to the client's key. Pays nothing.
   */
  download(goods: DeliveredGoods | number, options: DownloadOptions): Promise<DeliveredGoods>;
}

/** Parts of a client that a payment uses, so that a page that only buys can leave the rest out. */
export type BuyingClient = Pick<
  Client,
  'baseUrl' | 'callsItself' | 'environment' | 'clock' | 'getListing' | 'buyListing'
>;

export function createClient(options: ClientOptions): Client {
  const client = createClientOf(endpoints, options);
  const link: UploadLink = {
    ...{ baseUrl: client.baseUrl, environment: client.environment, key: options.key },
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    listUploads: async (signal) => (await client.listUploads({ signal })).body.uploads,
  };
  return {
    ...client,
    upload: (bytes, more = {}) => uploadBytes(link, bytes, more),
    download: async (goods, more) => {
      const delivered = typeof goods === 'number' ? await collectOwned(client, goods, more.signal) : goods;
      const known = more.commitment ?? delivered.artifact_commitment;
      const commitment = known ?? (await readCommitment(client, delivered.listing_id, more.signal));
      await downloadGoods(link, delivered, commitment, more);
      return delivered;
    },
  };
}

/** Asks for goods that are free or belong to the client's key. Sends no payment. */
async function collectOwned(client: ClientOf<Endpoints>, id: number, signal?: AbortSignal): Promise<DeliveredGoods> {
  const ask = async (body: BodyGiven<Endpoints['buyListing']>): Promise<DeliveredGoods> => {
    const answer = await client.buyListing({ params: { id }, body, signal });
    if (answer.status === 200) return answer.body;
    throw new UnreadableAnswer('unexpected', own`the payment for these goods isn’t final yet`, {
      status: answer.status,
    });
  };
  try {
    return await ask({ collect: true });
  } catch (error) {
    if (!(error instanceof MarketError) || error.reason !== 'nothing_to_collect') throw error;
    return await ask({ max_price_usdc: 0 });
  }
}

async function readCommitment(client: ClientOf<Endpoints>, id: number, signal?: AbortSignal): Promise<string> {
  const { listing } = (await client.getListing({ params: { id }, query: { comments_limit: 1 }, signal })).body;
  if (listing.artifact_commitment !== null) return listing.artifact_commitment;
  throw new TypeError('the listing is a city thing');
}

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
      (args: LooseGiven = {}) => callEndpoint(endpoint, args, { ...config, clock }, environment),
    ]),
  );
  const callsItself = options.callsItself === undefined ? null : readBaseUrl(options.callsItself);
  // Types and methods are derived from the same table.
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
  args: LooseGiven,
  config: CallConfig,
  environment: Environment,
): Promise<LooseAnswer> {
  const { url, init } = buildRequest(endpoint, args, config);
  const deadline = environment.deadline(config.timeoutMs);
  init.signal = args.signal === undefined ? deadline : AbortSignal.any([deadline, args.signal]);
  let response: Response;
  try {
    response = await environment.fetch(url, init);
  } catch (cause) {
    throw new UnreadableAnswer('no_answer', own`no answer came from ${ofOwner(config.baseUrl)}`, { cause });
  }
  // A cache may answer a GET with an old response and its old date.
  if (endpoint.method !== 'GET') config.clock.note(response.headers.get('date'));
  return readAnswer(endpoint, response, config.maxResponseBytes);
}

function buildRequest(
  endpoint: EndpointShape,
  args: LooseGiven,
  config: { baseUrl: string; key: string | undefined },
): { url: string; init: RequestInit } {
  const headers: Record<string, string> = { accept: 'application/json, application/problem+json' };
  const bearer = bearerFor(endpoint, args, config.key);
  if (bearer !== undefined) headers['authorization'] = `Bearer ${bearer}`;
  if (endpoint.payment === true) {
    if (args.payment !== undefined) headers[args.payment.name] = args.payment.value;
    if (args.deliveryToken !== undefined) headers['X-Delivery-Token'] = args.deliveryToken;
  }
  const mayBeLost = endpoint.payment === true || endpoint.claim === true;
  if (mayBeLost && args.recoverySlip !== undefined) headers['X-Recovery-Slip'] = args.recoverySlip;
  // Following a redirect would send key and proof to an address that the caller didn't choose.
  const init: RequestInit = { method: endpoint.method, headers, redirect: 'manual' };
  if (args.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(args.body);
  }
  return { url: config.baseUrl + fillPath(endpoint.path, args.params ?? {}) + queryText(args.query ?? {}), init };
}

/** Normalizes a base address: origin and path prefix without a trailing slash. Throws a TypeError if it isn't one. */
export function readBaseUrl(address: string): string {
  const url = new URL(address);
  const plain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!plain || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError('baseUrl must be an http or https address without credentials, query or fragment');
  }
  return url.href.replace(/\/+$/, '');
}

// Sends the key only to endpoints that accept one, so public audit routes never see it.
function bearerFor(endpoint: EndpointShape, args: LooseGiven, key: string | undefined): string | undefined {
  if (endpoint.auth === 'staged_key') return args.key;
  const takesKey = endpoint.auth === 'key' || endpoint.auth === 'optional_key' || endpoint.auth === 'maintainer';
  return takesKey ? key : undefined;
}

function fillPath(path: string, params: Readonly<Record<string, unknown>>): string {
  return path.replace(/:([a-z_]+)/g, (_, name: string) => {
    const text = String(params[name] ?? '');
    // A dot segment survives percent-encoding and would reach another route.
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} cannot be part of a path`);
    return encodeURIComponent(text);
  });
}

function queryText(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** Path and query values are sent as text, so numbers are accepted wherever the contract asks for text. */
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

/** An unconfirmed key belongs to one call and not to the client. */
type KeyPart<E extends EndpointShape> = E['auth'] extends 'staged_key' ? { key?: string } : unknown;

export type Given<E extends EndpointShape> = Part<'params', Spelled<ParamsGiven<E>>> &
  Part<'query', Spelled<QueryGiven<E>>> &
  BodyPart<E> &
  PaymentPart<E> &
  SlipPart<E> &
  KeyPart<E> & { signal?: AbortSignal | undefined };

/** Result of a client method: a union of successes by status. Refusals are thrown. */
export type Answered<E extends EndpointShape> = ResultOf<E> & { requestId: string | null };

/** Untyped form of `Given`, used internally. */
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
