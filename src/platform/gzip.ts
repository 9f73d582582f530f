import { crc32 } from 'node:zlib';

/** Maximum size of a stored block. */
const STORED_BYTES = 0xffff;
const STORED_HEAD_BYTES = 5;

/** Magic number and deflate. No name, time, level or system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const TRAILER_BYTES = 8;

/** A gzip file being written (RFC 1952): the write position, and CRC and length of the content so far. */
export interface GzipMember {
  readonly target: Buffer;
  at: number;
  crc: number;
  length: number;
}

/** Returns an upper bound for the length of a gzip file that contains this many bytes in stored blocks. */
export function plainBound(byteCount: number): number {
  const blocks = Math.ceil(byteCount / STORED_BYTES) + 2;
  return HEADER.length + byteCount + blocks * STORED_HEAD_BYTES + TRAILER_BYTES;
}

export function beginMember(target: Buffer, prefix: Uint8Array): GzipMember {
  const member: GzipMember = { target, at: HEADER.copy(target, 0), crc: crc32(prefix), length: prefix.length };
  writeStored(member, prefix, false);
  return member;
}

/** Completes the file and returns its length. */
export function finishMember(member: GzipMember, suffix: Uint8Array): number {
  const { target } = member;
  writeStored(member, suffix, true);
  // For an empty buffer, Node 22 returns 0 instead of the previous CRC.
  const crc = suffix.length === 0 ? member.crc : crc32(suffix, member.crc);
  target.writeUInt32LE(crc, member.at);
  target.writeUInt32LE((member.length + suffix.length) % 2 ** 32, member.at + 4);
  return member.at + TRAILER_BYTES;
}

/** Each earlier block ends on a byte boundary, so the header of a stored block has a byte of its own. */
function writeStored(member: GzipMember, bytes: Uint8Array, final: boolean): void {
  const { target } = member;
  let from = 0;
  do {
    const to = Math.min(bytes.length, from + STORED_BYTES);
    const isLast = to === bytes.length;
    if (isLast && from === to && !final) return;
    target[member.at] = final && isLast ? 1 : 0;
    target.writeUInt16LE(to - from, member.at + 1);
    target.writeUInt16LE(~(to - from) & 0xffff, member.at + 3);
    member.at += STORED_HEAD_BYTES;
    target.set(bytes.subarray(from, to), member.at);
    member.at += to - from;
    from = to;
  } while (from < bytes.length);
}

/** CRC-32 polynomial of gzip (RFC 1952), bits reversed: the highest bit is the lowest power of x. */
const POLYNOMIAL = 0xedb88320;

/** The polynomial 1 in the same representation. */
const ONE = 0x80000000 | 0;

/** Multiplies two polynomials over GF(2) modulo the CRC polynomial. Takes and returns signed 32-bit integers. */
function multiplyPolynomials(left: number, right: number): number {
  let product = 0;
  let shifted = right;
  for (let bit = 31; bit >= 0; bit--) {
    // Avoids branches, because the bits of a checksum are unpredictable.
    product ^= shifted & -((left >>> bit) & 1);
    shifted = (shifted >>> 1) ^ (POLYNOMIAL & -(shifted & 1));
  }
  return product;
}

/** x to the powers 2^0, 2^1, ..., 2^31. */
const SQUARES: Int32Array = (() => {
  const squares = new Int32Array(32);
  let power = 1 << 30;
  for (let index = 0; index < 32; index++) {
    squares[index] = power;
    power = multiplyPolynomials(power, power);
  }
  return squares;
})();

/** Returns x^(8n), the factor by which n further bytes shift a checksum. n must be below 2^29. */
export function shiftOfBytes(byteCount: number): number {
  let shift = ONE;
  let index = 3;
  for (let rest = byteCount; rest > 0; rest >>>= 1) {
    if ((rest & 1) === 1) shift = multiplyPolynomials(SQUARES[index] ?? 0, shift);
    index += 1;
  }
  return shift;
}

/** Returns the CRC of two concatenated texts, from the CRC of each and `shiftOfBytes` of the second one's length. */
export function combineCrc(first: number, second: number, shiftOfSecond: number): number {
  return (multiplyPolynomials(shiftOfSecond, first) ^ second) >>> 0;
}

const BYTES: Int32Array = (() => {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (POLYNOMIAL & -(value & 1));
    table[byte] = value;
  }
  return table;
})();

/** Returns the CRC of a text after one more byte. */
export function appendByteToCrc(crc: number, byte: number): number {
  const state = ~crc;
  return ~((state >>> 8) ^ (BYTES[(state ^ byte) & 0xff] ?? 0)) >>> 0;
}
