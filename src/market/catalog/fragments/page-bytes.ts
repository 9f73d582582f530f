import { gzipSync } from 'node:zlib';
import {
  appendByteToCrc,
  beginMember,
  combineCrc,
  finishMember,
  type GzipMember,
  plainBound,
} from '../../../platform/gzip.ts';
import { blockBound, type Deflated, dropLastComma } from './deflated.ts';
import { type Fragments, type OutlineSpan, outlineBytes, writeOutline } from './fragments.ts';
import type { PageBuffers } from './page-buffers.ts';

const COMMA = 0x2c;

/** Compressing this many new blocks takes about a millisecond. A page with more is sent uncompressed if memory for blocks is short. */
const MOST_MISSING = 60;

/** Outlines are too short to compress one by one; compressing a whole page of them is quick up to this size. */
const LONGEST_OUTLINES_BYTES = 32 * 1024;

/** A small window is quicker to set up. */
const OUTLINES_GZIP = { level: 1, windowBits: 13, memLevel: 6, chunkSize: 8 * 1024 };

export interface PageSources {
  fragments: Fragments;
  deflated: Deflated;
  buffers: PageBuffers;
}

export interface AbsentFragment {
  bytes: Buffer;
  span: OutlineSpan;
}

export interface PageParts {
  prefix: Uint8Array;
  ids: readonly number[];
  suffix: Uint8Array;
  outline: boolean;
  /** Evicted fragments, read from the database for this page. */
  absentFragments?: ReadonlyMap<number, AbsentFragment>;
}

export interface PageBytes {
  body: Uint8Array;
  takenBytes: number;
  release(): void;
}

/** Joins prefix, fragments separated by commas, and suffix. Null if a fragment is neither in memory nor in `absentFragments`. */
export function joinPage(sources: PageSources, parts: PageParts): PageBytes | null {
  const { fragments, buffers } = sources;
  const { prefix, ids, suffix, outline } = parts;
  const buffer = buffers.take(prefix.length + suffix.length + boundOf(fragments, parts));
  const { bytes } = buffer;
  bytes.set(prefix, 0);
  let at = prefix.length;
  if (ids.length > 0) {
    const joined = outline ? fragments.joinOutlines(ids, bytes, at) : fragments.join(ids, bytes, at);
    at = joined >= 0 ? joined : joinOneByOne(fragments, parts, bytes, at);
  }
  if (at < 0) {
    buffer.release();
    return null;
  }
  bytes.set(suffix, at);
  return { body: bytes.subarray(0, at + suffix.length), takenBytes: bytes.length, release: buffer.release };
}

/** Joins the page in gzip. Null if a fragment is not in memory or compressing costs too much; send the page uncompressed then. */
export function joinGzipPage(sources: PageSources, parts: PageParts, mostMissing = MOST_MISSING): PageBytes | null {
  if (parts.outline) return compressOutlines(sources, parts);
  const { fragments, deflated, buffers } = sources;
  const missing = deflated.missing(parts.ids);
  if (missing < 0 || (missing > mostMissing && deflated.hasOverwritten())) return null;
  const buffer = buffers.take(gzipBound(fragments, parts));
  const { bytes } = buffer;
  const length = writeGzip(deflated, parts, bytes);
  if (length < 0) {
    buffer.release();
    return null;
  }
  return { body: bytes.subarray(0, length), takenBytes: bytes.length, release: buffer.release };
}

function compressOutlines(sources: PageSources, parts: PageParts): PageBytes | null {
  const plain = joinPage(sources, parts);
  if (plain === null) return null;
  const body = plain.body.length <= LONGEST_OUTLINES_BYTES ? gzipSync(plain.body, OUTLINES_GZIP) : null;
  plain.release();
  return body && { body, takenBytes: body.buffer.byteLength, release: () => {} };
}

function boundOf(fragments: Fragments, { ids, outline, absentFragments }: PageParts): number {
  let bound = ids.length;
  for (const id of ids) bound += outline ? outlineBytes(fragments.span(id)) : fragments.size(id);
  if (absentFragments === undefined) return bound;
  for (const id of ids) {
    const absent = absentFragments.get(id);
    if (absent !== undefined) bound += outline ? outlineBytes(absent.span) : absent.bytes.length;
  }
  return bound;
}

/** Slower path for pages with evicted fragments. */
function joinOneByOne(fragments: Fragments, parts: PageParts, target: Buffer, start: number): number {
  let at = start;
  for (const id of parts.ids) {
    const bytes = fragments.view(id);
    const fragment = bytes === null ? parts.absentFragments?.get(id) : { bytes, span: fragments.span(id) };
    if (fragment === undefined) return -1;
    if (at > start) target[at++] = COMMA;
    if (parts.outline) at = writeOutline(fragment.bytes, 0, fragment.span, target, at);
    else at += fragment.bytes.copy(target, at);
  }
  return at;
}

function gzipBound(fragments: Fragments, page: PageParts): number {
  let bound = plainBound(page.prefix.length) + plainBound(page.suffix.length);
  for (const id of page.ids) bound += blockBound(fragments.size(id));
  return bound;
}

/** Writes the page as one gzip file of compressed blocks, combining their checksums. Returns the length, or -1 if a fragment is missing. */
function writeGzip(deflated: Deflated, page: PageParts, target: Buffer): number {
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
  // Every block ends with a comma, and the last comma of the page is dropped. So count the previous block's comma here.
  if (!isFirst) {
    member.crc = appendByteToCrc(member.crc, COMMA);
    member.length += 1;
  }
  member.crc = combineCrc(member.crc, block.crc, block.shift);
  member.length += block.size;
  return true;
}
