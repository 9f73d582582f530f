const HEAD_BYTES = 22;

/** One PNG of 32 pixels as a file of the old kind that browsers ask every site for (ICO). */
export function writeIcon(png: Uint8Array, size: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(1, 4);
  head.writeUInt8(size, 6);
  head.writeUInt8(size, 7);
  head.writeUInt16LE(1, 10);
  head.writeUInt16LE(32, 12);
  head.writeUInt32LE(png.byteLength, 14);
  head.writeUInt32LE(HEAD_BYTES, 18);
  return Buffer.concat([head, png]);
}
