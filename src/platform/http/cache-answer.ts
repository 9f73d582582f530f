import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from './caller-headers.ts';
import { isPieces, type Outgoing, releaseBody } from './message.ts';

const ETAG_CHARACTERS = 27;

/** Makes a strong ETag from the beginning of the SHA-256 of the bytes. */
export function etagOf(bytes: string | Uint8Array): string {
  return `"${hash('sha256', bytes, 'base64url').slice(0, ETAG_CHARACTERS)}"`;
}

/** Returns true if If-None-Match contains this tag (weak comparison, RFC 9110, 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  // Fast path: nearly every client sends back the single tag that it got.
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

export const PUBLIC_CACHE = 'public, max-age=1, stale-while-revalidate=5';
const PRIVATE = 'private, no-store';

/** Sets the caching headers. Answers 304 to a client that already has this version. */
export function cacheAnswer(answer: Outgoing, cache: 'public' | 'private', ifNoneMatch: string | undefined): Outgoing {
  if (cache === 'private' || answer.status !== 200) {
    return { ...answer, headers: { ...answer.headers, 'cache-control': PRIVATE } };
  }
  const headers: Record<string, string> = { ...answer.headers, 'cache-control': PUBLIC_CACHE };
  const etag = tagOf(answer);
  if (etag === null) return { ...answer, headers, compress: true };
  headers['etag'] = etag;
  if (!matchesEtag(ifNoneMatch, etag)) return { ...answer, headers, compress: true };
  releaseBody(answer);
  delete headers['content-type'];
  delete headers['content-encoding'];
  return { status: 304, headers, body: '' };
}

function tagOf({ etag, body }: Outgoing): string | null {
  if (etag !== undefined) return etag;
  return isPieces(body) ? null : etagOf(body);
}

const MIN_COMPRESS_BYTES = 1_024;
/** Output is 1 % larger than at the default level, in two thirds of the time. */
const LEVEL = 4;
/** Types worth compressing. Pictures and fonts are compressed already. */
const COMPRESSIBLE = /^(?:text\/|application\/(?:json|atom\+xml)|image\/svg)/;
const gzipLater = promisify(gzip);

/** Compresses an answer that allows it and is not compressed yet. Weakens the ETag, because the bytes differ (RFC 9110, 8.8.3.3). */
export async function compressAnswer(
  outgoing: Outgoing,
  acceptEncoding: string | string[] | undefined,
): Promise<Outgoing> {
  const { status, headers, body, release } = outgoing;
  if (outgoing.compress !== true || status !== 200 || headers['content-encoding'] !== undefined || isPieces(body))
    return outgoing;
  if (!COMPRESSIBLE.test(String(headers['content-type']))) return outgoing;
  const varied = { ...headers, vary: varyOf(headers['vary']) };
  if (!acceptsGzip(String(acceptEncoding ?? '')) || Buffer.byteLength(body) < MIN_COMPRESS_BYTES)
    return { ...outgoing, headers: varied };
  const packed = await gzipLater(body, { level: LEVEL });
  release?.();
  const { etag } = headers;
  return {
    status,
    headers: { ...varied, 'content-encoding': 'gzip', ...(typeof etag === 'string' ? { etag: weakenEtag(etag) } : {}) },
    body: packed,
  };
}

function varyOf(before: string | string[] | undefined): string {
  const vary = before === undefined ? '' : String(before);
  if (vary.includes('accept-encoding')) return vary;
  return vary === '' ? 'accept-encoding' : `${vary}, accept-encoding`;
}

function weakenEtag(etag: string): string {
  return etag.startsWith('W/') ? etag : `W/${etag}`;
}
