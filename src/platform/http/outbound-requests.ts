import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress } from './client-network.ts';

export type OutboundWhy =
  | ('timeout' | 'unreachable' | 'redirect' | 'too_large' | 'not_json')
  // Only when fetching documents of strangers. `address`: not a public address, so not requested. `status`: a status other than 200.
  | ('address' | 'status');

/** Thrown if another server gave no readable answer. That server may have acted on the request all the same. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure';
  readonly why: OutboundWhy;

  constructor(why: OutboundWhy, options?: ErrorOptions) {
    super(`the other server gave no readable answer: ${why}`, options);
    this.why = why;
  }
}

export interface AskOptions {
  /** Sent as JSON by POST. Null sends a GET. */
  body: unknown;
  /** Covers connection, headers and body together. */
  deadlineMs: number;
  maxBytes: number;
  headers?: Readonly<Record<string, string>>;
}

/** Sends one request without following redirects, and reads a bounded answer of any status. Throws OutboundFailure if it is unreadable. */
export async function askJson(url: string, options: AskOptions): Promise<{ status: number; json: unknown }> {
  const signal = AbortSignal.timeout(options.deadlineMs);
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
  if (options.body !== null) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(url, {
      method: options.body === null ? 'GET' : 'POST',
      headers,
      body: options.body === null ? null : JSON.stringify(options.body),
      redirect: 'manual',
      signal,
    });
    if (isRedirect(response)) {
      await response.body?.cancel();
      throw new OutboundFailure('redirect');
    }
    return { status: response.status, json: await readBoundedJson(response, options.maxBytes) };
  } catch (error) {
    if (error instanceof OutboundFailure) throw error;
    throw new OutboundFailure(signal.aborted ? 'timeout' : 'unreachable', { cause: error });
  }
}

function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

async function readBoundedJson({ body }: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundFailure('too_large');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    throw new OutboundFailure('not_json', { cause: error });
  }
}

/** Fetches a document from a URL that a stranger supplied. */
export type PublicFetch = (url: string, signal: AbortSignal) => Promise<Response>;

interface ResolvedAddress {
  address: string;
  family: number;
}

/** Access to network and DNS, which tests replace. */
export interface PublicNetwork {
  resolve(host: string): Promise<ResolvedAddress[]>;
  isPublic(address: string): boolean;
  request(
    options: RequestOptions & { servername: string },
    answered: (message: IncomingMessage) => void,
  ): ClientRequest;
  port: number;
}

const SYSTEM_NETWORK: PublicNetwork = {
  resolve: (host) => lookup(host, { all: true, verbatim: true }),
  isPublic: isPublicAddress,
  request: requestHttps,
  port: 443,
};
const DEADLINE_MS = 3_000;
const LONGEST_ADDRESS = 2_000;
const MAX_BYTES = 65_536;
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i;

/**
 * GETs over https from port 443 of a public host only. Checks every address that the DNS returns and connects to one of those, so a later
 * change of the DNS answer has no effect. No redirects, reused connections or proxies.
 */
export function createPublicFetch({ resolve, isPublic, request, port }: PublicNetwork = SYSTEM_NETWORK): PublicFetch {
  const resolvePublic = async (host: string) => {
    const addresses = await resolve(host);
    if (!addresses.every(({ address }) => isPublic(address))) throw new OutboundFailure('address');
    if (addresses.length === 0) throw new OutboundFailure('unreachable');
    return addresses;
  };
  return async (text, signal) => {
    const url = publicUrl(text);
    if (url === null) throw new OutboundFailure('address');
    const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'openaisle' };
    return await new Promise((fulfil, reject) => {
      const options: RequestOptions & { servername: string } = {
        ...{ host: url.hostname, servername: url.hostname, port, path: url.pathname + url.search },
        ...{ agent: false, signal, headers: { host: url.host, ...headers } },
        lookup: (host, { all }, done) => {
          const answer = (addresses: ResolvedAddress[]): void =>
            all ? done(null, addresses) : done(null, addresses[0]?.address ?? '', addresses[0]?.family);
          resolvePublic(host).then(answer, (error: Error) => done(error, ''));
        },
      };
      const sent = request(options, (message) => {
        const { statusCode: status = 0 } = message;
        if (status === 200) return fulfil(toResponse(message));
        message.destroy();
        reject(new OutboundFailure(status >= 300 && status < 400 ? 'redirect' : 'status'));
      });
      sent.on('error', reject);
      sent.end();
    });
  };
}

export const fetchPublic = createPublicFetch();

/** Rejects IP literals and every port but the default, for which `port` is empty. */
function publicUrl(text: string): URL | null {
  const url = text.length > LONGEST_ADDRESS ? null : URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.port !== '') return null;
  if (url.username !== '' || url.password !== '') return null;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return host === '' || isIP(host) !== 0 ? null : url;
}

function toResponse(message: IncomingMessage): Response {
  const type = message.headers['content-type'];
  const chunks: AsyncIterable<Uint8Array> = message;
  // Use a web stream, so that callers can read this answer like one of the standard `fetch`.
  const body = ReadableStream.from(chunks);
  return new Response(body, { headers: type === undefined ? {} : { 'content-type': type } });
}

/** Fetches a small JSON document within a short time. Throws OutboundFailure. */
export async function readPublicJson(
  url: string,
  fetchDocument: PublicFetch,
  deadlineMs = DEADLINE_MS,
): Promise<unknown> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const response = await fetchDocument(url, signal);
    const why = faultOf(response);
    if (why === null) return await readBoundedJson(response, MAX_BYTES);
    await response.body?.cancel();
    throw new OutboundFailure(why);
  } catch (error) {
    if (error instanceof OutboundFailure) throw error;
    throw new OutboundFailure(signal.aborted ? 'timeout' : 'unreachable', { cause: error });
  }
}

function faultOf(response: Response): 'redirect' | 'status' | 'not_json' | null {
  if (isRedirect(response)) return 'redirect';
  if (response.status !== 200) return 'status';
  return JSON_TYPE.test(response.headers.get('content-type') ?? '') ? null : 'not_json';
}
