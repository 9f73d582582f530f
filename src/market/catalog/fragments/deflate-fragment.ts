import { constants, crc32, deflateRawSync } from 'node:zlib';
import { shiftOfBytes } from '../../../platform/gzip/crc-combine.ts';

/** A compressed fragment, ready to be copied, and what it does to the checksum of the file it is copied into. */
export interface Block {
  source: Buffer;
  from: number;
  length: number;
  /** CRC of the fragment, its length, and `shiftOfBytes` of that length. */
  crc: number;
  size: number;
  shift: number;
}

/** A window of 8 KiB is longer than nearly every fragment, and quicker to set up than the usual one. */
const OPTIONS = { level: 6, windowBits: 13, memLevel: 6, finishFlush: constants.Z_SYNC_FLUSH };

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
export function deflateFragment(fragment: Uint8Array): Block {
  // Room for this one: the usual 16 KiB for each of many would be garbage in no time.
  const raw = deflateRawSync(fragment, {
    ...OPTIONS,
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
