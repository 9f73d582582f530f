import { hash } from 'node:crypto';
import type { Fragments } from '../fragments/fragments.ts';
import type { PageParts } from '../fragments/page-bytes.ts';

const STAMP_BYTES = 8;
let scratch = Buffer.alloc(16_384);

/**
 * A strong ETag without its quotes, of bytes that need not exist yet: everything that the page is made of decides it, and a listing
 * stands for itself by its stamp. So it is the same in every process and after every restart.
 */
export function tagOfParts(fragments: Fragments, parts: PageParts): string {
  return tagAround(parts, digestOfListings(fragments, parts));
}

/** What stands around the listings changes more often than they do, and what stands before them is the same on many pages. */
export function tagAround({ prefix, suffix }: Pick<PageParts, 'prefix' | 'suffix'>, ofListings: string): string {
  const before = digestOfPrefix(prefix) + ofListings;
  const length = before.length + suffix.length;
  reach(length);
  scratch.write(before, 0, 'latin1');
  scratch.set(suffix, before.length);
  return hash('sha256', scratch.subarray(0, length), 'base64url').slice(0, 27);
}

export function digestOfListings(fragments: Fragments, { ids, outline }: Pick<PageParts, 'ids' | 'outline'>): string {
  reach(ids.length * STAMP_BYTES + 1);
  let at = 0;
  for (const id of ids) {
    fragments.stampInto(id, scratch, at);
    at += STAMP_BYTES;
  }
  scratch[at++] = outline ? 1 : 0;
  return hash('sha256', scratch.subarray(0, at), 'base64url');
}

function reach(length: number): void {
  if (scratch.length < length) scratch = Buffer.alloc(length * 2);
}

let last: { prefix: Uint8Array; digest: string } = {
  prefix: new Uint8Array(),
  digest: hash('sha256', '', 'base64url'),
};

/** A prefix is never written again once it is made. */
function digestOfPrefix(prefix: Uint8Array): string {
  if (prefix !== last.prefix) last = { prefix, digest: hash('sha256', prefix, 'base64url') };
  return last.digest;
}
