import { hash } from 'node:crypto';
import type { Fragments } from '../fragments/fragments.ts';
import type { PageParts } from '../fragments/page-bytes.ts';

const STAMP_BYTES = 8;
let scratch = Buffer.alloc(16_384);

/**
 * A strong ETag without its quotes, of bytes that need not exist yet: everything that the page is made of decides it, and a listing
 * stands for itself by its stamp. So it is the same in every process and after every restart.
 */
export function tagOfParts(fragments: Fragments, { prefix, ids, suffix, outline }: PageParts): string {
  const need = prefix.length + suffix.length + ids.length * STAMP_BYTES + 1;
  if (scratch.length < need) scratch = Buffer.alloc(need * 2);
  let at = 0;
  scratch.set(prefix, at);
  at += prefix.length;
  for (const id of ids) {
    fragments.stampInto(id, scratch, at);
    at += STAMP_BYTES;
  }
  scratch.set(suffix, at);
  at += suffix.length;
  scratch[at++] = outline ? 1 : 0;
  return hash('sha256', scratch.subarray(0, at), 'base64url').slice(0, 27);
}
