import type { EndpointShape } from '../contract/endpoint.ts';
import { type Endpoints, endpoints } from '../contract/index.ts';
import { buildRequest, readBaseUrl } from './build-request.ts';
import type { Answered, Given, LooseGiven } from './call-types.ts';
import { type Environment, systemEnvironment } from './environment.ts';
import { type LooseAnswer, readAnswer } from './read-answer.ts';
import { UnreadableAnswer } from './unreadable-answer.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Room for the largest page of 50 listings and for an artifact whose every character is escaped. */
const DEFAULT_RESPONSE_BYTES = 16_777_216;

export interface ClientOptions {
  /** Where the site is, for instance `https://market.example`. */
  baseUrl: string;
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
  readonly environment: Environment;
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
  const methods = Object.fromEntries(
    Object.entries(table).map(([name, endpoint]) => [
      name,
      (given: LooseGiven = {}) => callEndpoint(endpoint, given, config, environment),
    ]),
  );
  // The types above are derived from the same table that the methods are made from.
  return { ...methods, baseUrl: config.baseUrl, environment } as unknown as ClientOf<E>;
}

interface CallConfig {
  baseUrl: string;
  key: string | undefined;
  timeoutMs: number;
  maxResponseBytes: number;
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
    throw new UnreadableAnswer('no_answer', 'no answer came', { cause });
  }
  return readAnswer(endpoint, response, config.maxResponseBytes);
}
