/** CRC-32 of gzip (RFC 1952), bits reversed: the lowest power of x is the highest bit. */
const POLYNOMIAL = 0xedb88320;

/** The number one in that form. */
const ONE = 0x80000000 | 0;

/** The product of two polynomials over two elements, modulo the polynomial of the CRC. Signed 32 bits in and out. */
export function multiply(left: number, right: number): number {
  let product = 0;
  let shifted = right;
  for (let bit = 31; bit >= 0; bit--) {
    // No branches: the bits of a checksum cannot be foreseen.
    product ^= shifted & -((left >>> bit) & 1);
    shifted = (shifted >>> 1) ^ (POLYNOMIAL & -(shifted & 1));
  }
  return product;
}

/** x to the power of 2^0, 2^1, ..., 2^31. */
const SQUARES: Int32Array = (() => {
  const squares = new Int32Array(32);
  let power = 1 << 30;
  for (let index = 0; index < 32; index++) {
    squares[index] = power;
    power = multiply(power, power);
  }
  return squares;
})();

/** x^(8n): what n more bytes do to a checksum. Below 2^29 bytes. */
export function shiftOfBytes(byteCount: number): number {
  let shift = ONE;
  let index = 3;
  for (let rest = byteCount; rest > 0; rest >>>= 1) {
    if ((rest & 1) === 1) shift = multiply(SQUARES[index] ?? 0, shift);
    index += 1;
  }
  return shift;
}

/** The CRC of two texts in a row from the CRC of each and `shiftOfBytes` of the length of the second. */
export function combineCrc(first: number, second: number, shiftOfSecond: number): number {
  return (multiply(shiftOfSecond, first) ^ second) >>> 0;
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

/** The CRC of a text and one byte more. */
export function appendByteToCrc(crc: number, byte: number): number {
  const state = ~crc;
  return ~((state >>> 8) ^ (BYTES[(state ^ byte) & 0xff] ?? 0)) >>> 0;
}
