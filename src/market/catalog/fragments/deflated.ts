import { constants, crc32, deflateRawSync } from 'node:zlib';
import { shiftOfBytes } from '../../../platform/gzip.ts';
import { withCapacity } from '../byte-runs.ts';
import type { Fragments } from './fragments.ts';

const MOST_RING_BYTES = 2 ** 31;
/** Header before each block: length, checksum, size and shift, four bytes each. */
const HEAD_BYTES = 16;

/** Fragments in compressed form, made when a page first needs them. */
export interface Deflated {
  /** Counts the ids that have no compressed block. Returns -1 if one of them has no fragment in memory. */
  missing(ids: readonly number[]): number;
  /** Returns a fragment's compressed block, valid until the next call. Null if neither block nor fragment is in memory. */
  block(id: number): Block | null;
  /** True once blocks were overwritten because the budget is too small. */
  hasOverwritten(): boolean;
  bytes(): number;
}

/**
 * A ring buffer in which a new block overwrites the oldest. Offsets count all bytes ever written, so a block is intact while its offset is
 * less than one round behind. All memory is reserved at the start, but the system allocates a page only when it is written.
 */
interface Ring {
  readonly bytes: Buffer;
  written: number;
  /** By id: the block's offset plus one (0 if there is none), and the fragment version it was made from. */
  offsets: Float64Array;
  versions: Uint32Array;
}

/** Moves a requested block from the older half to the front, so that the ring drops the least recently used ones. */
export function createDeflated(fragments: Fragments, { budgetBytes }: { budgetBytes: number }): Deflated {
  const bytes = Buffer.allocUnsafeSlow(Math.min(budgetBytes, MOST_RING_BYTES));
  const ring: Ring = { bytes, written: 0, offsets: new Float64Array(0), versions: new Uint32Array(0) };
  return {
    missing(ids) {
      let count = 0;
      for (const id of ids) {
        if (offsetOf(ring, id, fragments.version(id)) >= 0) continue;
        if (!fragments.has(id)) return -1;
        count += 1;
      }
      return count;
    },
    block(id) {
      const version = fragments.version(id);
      const offset = offsetOf(ring, id, version);
      if (offset < 0) {
        const fragment = fragments.view(id);
        return fragment && keepBlock(ring, id, version, deflateFragment(fragment));
      }
      const block = readBlock(ring, offset);
      return offset < ring.written - bytes.length / 2 ? keepBlock(ring, id, version, block) : block;
    },
    hasOverwritten: () => ring.written > bytes.length,
    bytes: () => Math.min(ring.written, bytes.length),
  };
}

/** Returns -1 if there is no intact block of this version. */
function offsetOf({ bytes, written, offsets, versions }: Ring, id: number, version: number): number {
  const offset = (offsets[id] ?? 0) - 1;
  return versions[id] === version && offset >= written - bytes.length ? offset : -1;
}

function readBlock({ bytes }: Ring, offset: number): Block {
  const from = offset % bytes.length;
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
  // A block never wraps around the end.
  const left = bytes.length - (ring.written % bytes.length);
  if (needed > left) ring.written += left;
  if (id >= ring.offsets.length) {
    ring.offsets = withCapacity(ring.offsets, id);
    ring.versions = withCapacity(ring.versions, id);
  }
  ring.offsets[id] = ring.written + 1;
  ring.versions[id] = version;
  const from = ring.written % bytes.length;
  ring.written += needed;
  // Copy before writing the header, because the source may lie in the same bytes.
  block.source.copy(bytes, from + HEAD_BYTES, block.from, block.from + block.length);
  bytes.writeUInt32LE(block.length, from);
  bytes.writeUInt32LE(block.crc, from + 4);
  bytes.writeUInt32LE(block.size, from + 8);
  bytes.writeInt32LE(block.shift, from + 12);
  return { ...block, source: bytes, from: from + HEAD_BYTES };
}

/** A compressed fragment, ready to be copied, and its effect on the checksum of the file. */
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

/** The last bytes of a sync flush: the length of an empty stored block and its complement. The block's header precedes them. */
const EMPTY_STORED = Buffer.from([0, 0, 0xff, 0xff]);

/** The same block, but containing a comma. */
const STORED_COMMA = Buffer.from([1, 0, 0xfe, 0xff, 0x2c]);

/** Returns an upper bound of a block's length, above zlib's own deflateBound. */
export function blockBound(size: number): number {
  return size + (size >>> 5) + (size >>> 7) + 64;
}

/** Deflates a fragment to a byte boundary. The stored block at its end carries the comma of a list; `dropLastComma` removes it. */
function deflateFragment(fragment: Uint8Array): Block {
  // Size the chunk for this fragment, because 16 KiB (the default) for each would soon fill the heap with garbage.
  const raw = deflateRawSync(fragment, {
    ...DEFLATE_OPTIONS,
    chunkSize: Math.max(constants.Z_MIN_CHUNK, blockBound(fragment.length)),
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

/** Removes the comma from the block that ends at `at`. Returns the new end. */
export function dropLastComma(target: Buffer, at: number): number {
  const from = at - STORED_COMMA.length;
  EMPTY_STORED.copy(target, from);
  return from + EMPTY_STORED.length;
}
