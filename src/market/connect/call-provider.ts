import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inject } from 'light-my-request';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { Incoming, Outgoing } from '../../platform/http/message.ts';
import type { MarketConfig } from '../context.ts';
import { COOKIE_NAMES } from './create-provider.ts';

/** The only parts of a request that reach the authorization server. */
export interface ProviderRequest {
  method: 'GET' | 'POST';
  /** Path with query. */
  path: string;
  /** Names are in lower case. */
  headers?: Readonly<Record<string, string>>;
  body?: string;
  /** Forwards cookies. Only for steps of an authorization in a browser. */
  withCookies?: true;
}

export interface ProviderAnswer {
  answer: Outgoing & { body: string };
  /** The authorization server's error, or null if it refused nothing. */
  fault: errors.OIDCProviderError | null;
}

export interface ProviderCalls {
  /** Sends a request without a socket. Throws errors that are not refusals. */
  ask(request: ProviderRequest, from: Incoming): Promise<ProviderAnswer>;
  /** Runs `act` with Node's request and response objects, from which the library reads its signed cookies. */
  withRequest<T>(from: Incoming, act: (request: IncomingMessage, response: ServerResponse) => Promise<T>): Promise<T>;
}

const FAULT_EVENTS = [
  ...['server_error', 'authorization.error', 'grant.error', 'revocation.error', 'jwks.error'],
  ...['registration_create.error', 'registration_read.error'],
];
const KEPT_HEADERS = ['content-type', 'location', 'www-authenticate'];

export function createProviderCalls(provider: Provider, { baseUrl }: Pick<MarketConfig, 'baseUrl'>): ProviderCalls {
  const handle = provider.callback();
  const base = new URL(baseUrl);
  const faults = new WeakMap<object, unknown>();
  const events: EventEmitter = provider;
  for (const name of FAULT_EVENTS) {
    events.on(name, (ctx: { req: object }, fault: unknown) => void faults.set(ctx.req, fault));
  }
  // Without a listener, Koa would print the error.
  events.on('error', (fault: unknown, ctx?: { req: object }) => {
    if (ctx !== undefined) faults.set(ctx.req, fault);
  });
  const headersOf = (from: Incoming, withCookies: boolean): Record<string, string> => ({
    host: base.host,
    'x-forwarded-proto': base.protocol.slice(0, -1),
    'x-forwarded-for': from.clientNetwork,
    accept: 'application/json',
    ...(withCookies && from.headers.cookie !== undefined ? { cookie: from.headers.cookie } : {}),
  });

  return {
    ask: async ({ method, path, headers, body, withCookies }, from) => {
      const response = await inject(handle, {
        method,
        url: path,
        headers: { ...headersOf(from, withCookies === true), ...headers },
        ...(body === undefined ? {} : { payload: body }),
      });
      const fault = faults.get(response.raw.req) ?? null;
      if (fault !== null && !isRefusal(fault)) throw fault;
      return { answer: toOutgoing(response.statusCode, response.headers, response.body), fault };
    },
    withRequest: (from, act) =>
      new Promise((resolve, reject) => {
        const run = (request: IncomingMessage, response: ServerResponse): void => {
          act(request, response)
            .then(resolve, reject)
            .finally(() => response.end());
        };
        inject(run, { method: 'GET', url: '/', headers: headersOf(from, true) }).catch(reject);
      }),
  };
}

function isRefusal(fault: unknown): fault is errors.OIDCProviderError {
  return fault instanceof errors.OIDCProviderError && fault.expose;
}

function toOutgoing(
  status: number,
  providerHeaders: Readonly<Record<string, number | string | string[] | undefined>>,
  body: string,
): Outgoing & { body: string } {
  const headers: Outgoing['headers'] = { 'cache-control': 'private, no-store' };
  for (const name of KEPT_HEADERS) {
    const value = providerHeaders[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const cookies = [providerHeaders['set-cookie'] ?? []].flat().filter((line) => !isSessionCookie(String(line)));
  if (cookies.length > 0) headers['set-cookie'] = cookies.map(String);
  return { status, headers, body: status >= 300 && status < 400 ? '' : body };
}

/** Returns whether the cookie is the session cookie, which is dropped because sessions are never stored. */
function isSessionCookie(line: string): boolean {
  return line.startsWith(COOKIE_NAMES.session);
}
