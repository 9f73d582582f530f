import { appendByteToCrc, combineCrc } from '../../../platform/gzip/crc-combine.ts';
import { beginMember, finishMember, type GzipMember, plainBound } from '../../../platform/gzip/gzip-member.ts';
import { blockBound, dropLastComma } from './deflate-fragment.ts';
import type { Deflated } from './deflated.ts';
import type { Fragments } from './fragments.ts';

const COMMA = 0x2c;

export interface GzipPage {
  prefix: Uint8Array;
  ids: readonly number[];
  suffix: Uint8Array;
}

/** The longest that the gzip form can become. */
export function gzipBound(fragments: Fragments, page: GzipPage): number {
  let bound = plainBound(page.prefix.length) + plainBound(page.suffix.length);
  for (const id of page.ids) bound += blockBound(fragments.size(id));
  return bound;
}

/**
 * Writes prefix, fragments with commas between, and suffix as one gzip file, without compressing anything that was compressed
 * before: blocks are copied, and their checksums combined. Gives its length, or -1 when a fragment is not there.
 */
export function writeGzip(deflated: Deflated, page: GzipPage, target: Buffer): number {
  const member = beginMember(target, page.prefix);
  let isFirst = true;
  for (const id of page.ids) {
    if (!appendBlock(member, deflated, id, isFirst)) return -1;
    isFirst = false;
  }
  if (page.ids.length > 0) member.at = dropLastComma(target, member.at);
  return finishMember(member, page.suffix);
}

function appendBlock(member: GzipMember, deflated: Deflated, id: number, isFirst: boolean): boolean {
  const block = deflated.block(id);
  if (block === null) return false;
  block.source.copy(member.target, member.at, block.from, block.from + block.length);
  member.at += block.length;
  // Each block ends with the comma that follows it, which counts once the next fragment is there.
  if (!isFirst) {
    member.crc = appendByteToCrc(member.crc, COMMA);
    member.length += 1;
  }
  member.crc = combineCrc(member.crc, block.crc, block.shift);
  member.length += block.size;
  return true;
}
