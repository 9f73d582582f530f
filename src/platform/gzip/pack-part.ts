import { constants, crc32, deflateRawSync } from 'node:zlib';
import { combineCrc, shiftOfBytes } from './crc-combine.ts';
import { beginMember, finishMember, type GzipMember, plainBound } from './gzip-member.ts';

/** The long middle of an answer, deflated by itself up to a byte boundary. */
export interface PackedPart {
  bytes: Uint8Array;
  crc: number;
  /** Of what it holds. */
  size: number;
  shift: number;
}

// Twice as quick as the usual level, and a tenth longer.
const OPTIONS = { level: 3, finishFlush: constants.Z_SYNC_FLUSH };

export function packPart(bytes: Uint8Array): PackedPart {
  const size = bytes.byteLength;
  return { bytes: deflateRawSync(bytes, OPTIONS), crc: crc32(bytes), size, shift: shiftOfBytes(size) };
}

/** Prefix, part and suffix as one gzip file in three parts, of which the one in the middle is not copied. */
export function gzipAround(prefix: Uint8Array, part: PackedPart, suffix: Uint8Array): Uint8Array[] {
  const before = beginMember(Buffer.allocUnsafe(plainBound(prefix.byteLength)), prefix);
  const after: GzipMember = {
    target: Buffer.allocUnsafe(plainBound(suffix.byteLength)),
    at: 0,
    crc: combineCrc(before.crc, part.crc, part.shift),
    length: before.length + part.size,
  };
  const end = finishMember(after, suffix);
  return [before.target.subarray(0, before.at), part.bytes, after.target.subarray(0, end)];
}
