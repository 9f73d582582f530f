import { hash } from 'node:crypto';
import type { Fragments } from '../fragments/fragments.ts';
import type { PageParts } from '../fragments/page-bytes.ts';

const STAMP_BYTES = 8;
const TAG_CHARACTERS = 27;
let scratch = Buffer.alloc(16_384);

/**
 * A strong ETag without its quotes, of bytes that need not exist yet: everything that the page is made of decides it, and a listing
 * stands for itself by its stamp. So it is the same in every process and after every restart.
 */
export function tagOfParts(fragments: Fragments, { prefix, ids, suffix, outline }: PageParts): string {
  const length = 8 + prefix.length + ids.length * STAMP_BYTES + suffix.length + 1;
  if (scratch.length < length) scratch = Buffer.alloc(length * 2);
  // With both lengths no part can take the place of its neighbour.
  let at = scratch.writeUInt32LE(ids.length, scratch.writeUInt32LE(prefix.length, 0));
  scratch.set(prefix, at);
  at += prefix.length;
  for (const id of ids) {
    fragments.stampInto(id, scratch, at);
    at += STAMP_BYTES;
  }
  scratch.set(suffix, at);
  scratch[at + suffix.length] = outline ? 1 : 0;
  return hash('sha256', scratch.subarray(0, length), 'base64url').slice(0, TAG_CHARACTERS);
}
