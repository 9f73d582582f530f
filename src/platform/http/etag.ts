import { hash } from 'node:crypto';

const ETAG_CHARACTERS = 27;

/** A strong ETag: the beginning of the SHA-256 of the bytes that are sent. */
export function etagOf(bytes: string | Uint8Array): string {
  return `"${hash('sha256', bytes, 'base64url').slice(0, ETAG_CHARACTERS)}"`;
}

/** Whether If-None-Match names this tag (weak comparison, RFC 9110 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  // What nearly every client sends: the one tag it was given.
  if (ifNoneMatch === etag) return true;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
