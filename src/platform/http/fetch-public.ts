import { lookup } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress } from './client-network.ts';

export type PublicFetchWhy =
  // An address that is none for the public: not asked at all.
  'address' | 'unreachable' | 'timeout' | 'redirect' | 'status' | 'too_large' | 'not_json';

/** A server that a stranger named gave no document. */
export class PublicFetchFailure extends Error {
  override readonly name = 'PublicFetchFailure';
  readonly why: PublicFetchWhy;

  constructor(why: PublicFetchWhy, options?: ErrorOptions) {
    super(`the document could not be read: ${why}`, options);
    this.why = why;
  }
}

/** Asks for a document at an address that a stranger named. */
export type PublicFetch = (url: string, signal: AbortSignal) => Promise<Response>;

interface Found {
  address: string;
  family: number;
}

/** What is taken from the machine. Tests serve on a port of their own, and answer for the DNS. */
export interface PublicMeans {
  resolve(host: string): Promise<Found[]>;
  isPublic(address: string): boolean;
  request(
    options: RequestOptions & { servername: string },
    answered: (message: IncomingMessage) => void,
  ): ClientRequest;
  port: number;
}

const MACHINE: PublicMeans = {
  resolve: (host) => lookup(host, { all: true, verbatim: true }),
  isPublic: isPublicAddress,
  request: requestHttps,
  port: 443,
};
const DEADLINE_MS = 3_000;
const LONGEST_ADDRESS = 2_000;
const MOST_BYTES = 65_536;
const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json[ \t]*(?:;|$)/i;

/**
 * GET by https at port 443 of a public host, and nowhere else: every address that the DNS gives is looked at, and the connection goes to
 * one of those, so that an answer which changes meanwhile changes nothing. No redirects, no connection kept, no proxy.
 */
export function createPublicFetch(means: PublicMeans = MACHINE): PublicFetch {
  return async (text, signal) => {
    const url = publicUrl(text);
    if (url === null) throw new PublicFetchFailure('address');
    const found = await means.resolve(url.hostname).catch((error: unknown) => {
      throw new PublicFetchFailure('unreachable', { cause: error });
    });
    if (found.length === 0) throw new PublicFetchFailure('unreachable');
    if (!found.every(({ address }) => means.isPublic(address))) throw new PublicFetchFailure('address');
    signal.throwIfAborted();
    return await send(means, { url, found, signal });
  };
}

export const fetchPublic = createPublicFetch();

/** An address literal is no name of a host that publishes something; the default port alone is left out of `port`. */
function publicUrl(text: string): URL | null {
  const url = text.length > LONGEST_ADDRESS ? null : URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.port !== '') return null;
  if (url.username !== '' || url.password !== '') return null;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return host === '' || isIP(host) !== 0 ? null : url;
}

function send(
  { request, port }: PublicMeans,
  { url, found, signal }: { url: URL; found: Found[]; signal: AbortSignal },
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: url.hostname,
        servername: url.hostname,
        port,
        path: url.pathname + url.search,
        agent: false,
        signal,
        headers: {
          host: url.host,
          accept: 'application/json',
          'accept-encoding': 'identity',
          'user-agent': 'openaisle',
        },
        lookup: (_host, options, done) => {
          const [first] = found;
          if (options.all === true) return done(null, found);
          done(null, first?.address ?? '', first?.family);
        },
      },
      (message) => {
        const { statusCode: status = 0 } = message;
        if (status === 200) return resolve(toResponse(message));
        message.destroy();
        reject(new PublicFetchFailure(status >= 300 && status < 400 ? 'redirect' : 'status'));
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

function toResponse(message: IncomingMessage): Response {
  const type = message.headers['content-type'];
  const chunks: AsyncIterable<Uint8Array> = message;
  // As a stream of the web, so that whoever hands in a fetch of another kind is read in the same way.
  const body = ReadableStream.from(chunks);
  return new Response(body, { headers: type === undefined ? {} : { 'content-type': type } });
}

/** What is published at that address as JSON: small, and soon. Throws a PublicFetchFailure. */
export async function readPublicJson(
  url: string,
  fetchDocument: PublicFetch,
  deadlineMs = DEADLINE_MS,
): Promise<unknown> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    return await Promise.race([read(url, fetchDocument, signal), endOf(signal)]);
  } catch (error) {
    if (error instanceof PublicFetchFailure) throw error;
    throw new PublicFetchFailure(signal.aborted ? 'timeout' : 'unreachable', { cause: error });
  }
}

async function read(url: string, fetchDocument: PublicFetch, signal: AbortSignal): Promise<unknown> {
  const response = await fetchDocument(url, signal);
  const why = faultOf(response);
  if (why !== null) {
    await response.body?.cancel();
    throw new PublicFetchFailure(why);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MOST_BYTES) throw new PublicFetchFailure('too_large');
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    return value;
  } catch {
    throw new PublicFetchFailure('not_json');
  }
}

function faultOf({ status, headers, type }: Response): PublicFetchWhy | null {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) return 'redirect';
  if (status !== 200) return 'status';
  return JSON_TYPE.test(headers.get('content-type') ?? '') ? null : 'not_json';
}

/** Never resolves: a document may hang where nobody looks at the signal, as while a name is looked up. */
function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new PublicFetchFailure('timeout')), { once: true });
  });
}
