import { constants, crc32, deflateRawSync } from 'node:zlib';
import { shiftOfBytes } from '../../../platform/gzip.ts';
import { grown } from '../byte-runs.ts';
import type { Fragments } from './fragments.ts';

const MOST_RING_BYTES = 2 ** 31;
/** Before each block: length, checksum, size and shift, four bytes each. */
const HEAD_BYTES = 16;

/** Fragments in compressed form, made when a page first needs them. */
export interface Deflated {
  /** How many of these would have to be compressed now; -1 when one of those is not held any more. */
  missing(ids: readonly number[]): number;
  /** The block of a fragment; valid until the next call. Null: not there, and not held either. */
  block(id: number): Block | null;
  /** The budget was too small for what was asked for: blocks were given up to make room. */
  pressed(): boolean;
  bytes(): number;
}

/**
 * Blocks one behind another: a new one takes the place of the oldest. Places count all bytes that were ever written, so that a block is there
 * while its place is less than a round behind. All memory is reserved at the start; what was never written takes none of the machine's yet.
 */
interface Ring {
  readonly bytes: Buffer;
  written: number;
  /** By id: one more than the place of its block, 0 where there is none, and of which version it is. */
  places: Float64Array;
  versions: Uint32Array;
}

/** What is asked for in the older half is written again, so what goes is what was not asked for in the meantime. */
export function createDeflated(fragments: Fragments, { budgetBytes }: { budgetBytes: number }): Deflated {
  const bytes = Buffer.allocUnsafeSlow(Math.min(budgetBytes, MOST_RING_BYTES));
  const ring: Ring = { bytes, written: 0, places: new Float64Array(0), versions: new Uint32Array(0) };
  return {
    missing(ids) {
      let count = 0;
      for (const id of ids) {
        if (placeOf(ring, id, fragments.version(id)) >= 0) continue;
        if (!fragments.has(id)) return -1;
        count += 1;
      }
      return count;
    },
    block(id) {
      const version = fragments.version(id);
      const place = placeOf(ring, id, version);
      if (place < 0) {
        const fragment = fragments.view(id);
        return fragment && keepBlock(ring, id, version, deflateFragment(fragment));
      }
      const block = readBlock(ring, place);
      return place < ring.written - bytes.length / 2 ? keepBlock(ring, id, version, block) : block;
    },
    pressed: () => ring.written > bytes.length,
    bytes: () => Math.min(ring.written, bytes.length),
  };
}

/** -1: there is no block of that version. */
function placeOf({ bytes, written, places, versions }: Ring, id: number, version: number): number {
  const place = (places[id] ?? 0) - 1;
  return versions[id] === version && place >= written - bytes.length ? place : -1;
}

function readBlock({ bytes }: Ring, place: number): Block {
  const from = place % bytes.length;
  return {
    source: bytes,
    from: from + HEAD_BYTES,
    length: bytes.readUInt32LE(from),
    crc: bytes.readUInt32LE(from + 4),
    size: bytes.readUInt32LE(from + 8),
    shift: bytes.readInt32LE(from + 12),
  };
}

function keepBlock(ring: Ring, id: number, version: number, block: Block): Block {
  const { bytes } = ring;
  const needed = HEAD_BYTES + block.length;
  if (needed > bytes.length / 2) return block;
  // A block never lies across the end.
  const left = bytes.length - (ring.written % bytes.length);
  if (needed > left) ring.written += left;
  if (id >= ring.places.length) {
    ring.places = grown(ring.places, id);
    ring.versions = grown(ring.versions, id);
  }
  ring.places[id] = ring.written + 1;
  ring.versions[id] = version;
  const from = ring.written % bytes.length;
  ring.written += needed;
  // Before the head is written: what is copied may lie in the same place.
  block.source.copy(bytes, from + HEAD_BYTES, block.from, block.from + block.length);
  bytes.writeUInt32LE(block.length, from);
  bytes.writeUInt32LE(block.crc, from + 4);
  bytes.writeUInt32LE(block.size, from + 8);
  bytes.writeInt32LE(block.shift, from + 12);
  return { ...block, source: bytes, from: from + HEAD_BYTES };
}

/** A compressed fragment, ready to be copied, and what it does to the checksum of the file it is copied into. */
interface Block {
  source: Buffer;
  from: number;
  length: number;
  /** CRC of the fragment, its length, and `shiftOfBytes` of that length. */
  crc: number;
  size: number;
  shift: number;
}

/** A window of 8 KiB is longer than nearly every fragment, and quicker to set up than the usual one. */
const DEFLATE_OPTIONS = { level: 6, windowBits: 13, memLevel: 6, finishFlush: constants.Z_SYNC_FLUSH };

/** What zlib allows. */
const LEAST_CHUNK_BYTES = 64;

/** What a sync flush ends with: length and complement of an empty stored block, whose head was written before. */
const EMPTY_STORED = Buffer.from([0, 0, 0xff, 0xff]);

/** The same block with a comma in it. */
const STORED_COMMA = Buffer.from([1, 0, 0xfe, 0xff, 0x2c]);

/** The longest that the block of a fragment can become; more than zlib itself allows for (its deflateBound). */
export function blockBound(size: number): number {
  return size + (size >>> 5) + (size >>> 7) + 64;
}

/**
 * Deflates a fragment by itself, up to a byte boundary. The stored block with which that ends carries the comma that
 * follows in a list, so that the separator costs a single byte; `dropLastComma` takes it back behind the last fragment.
 */
function deflateFragment(fragment: Uint8Array): Block {
  // Room for this one: the usual 16 KiB for each of many would be garbage in no time.
  const raw = deflateRawSync(fragment, {
    ...DEFLATE_OPTIONS,
    chunkSize: Math.max(LEAST_CHUNK_BYTES, blockBound(fragment.length)),
  });
  const body = raw.length - EMPTY_STORED.length;
  if (EMPTY_STORED.compare(raw, body) !== 0) throw new Error('deflate did not end in a sync flush');
  const source = Buffer.concat([raw.subarray(0, body), STORED_COMMA]);
  return {
    source,
    from: 0,
    length: source.length,
    crc: crc32(fragment),
    size: fragment.length,
    shift: shiftOfBytes(fragment.length),
  };
}

/** Gives the place behind the block that now ends before `at`. */
export function dropLastComma(target: Buffer, at: number): number {
  const from = at - STORED_COMMA.length;
  EMPTY_STORED.copy(target, from);
  return from + EMPTY_STORED.length;
}
