import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { appendByteToCrc, combineCrc, shiftOfBytes } from './gzip.ts';

const anyBytes = fc.uint8Array({ maxLength: 3000 });

test('checksums of two texts make the checksum of both in a row', () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, (first, second) => {
      const both = crc32(Buffer.concat([first, second]));
      expect(combineCrc(crc32(first), crc32(second), shiftOfBytes(second.length))).toBe(both);
    }),
  );
});

test('long texts are combined as well as short ones', () => {
  for (const length of [65_535, 65_536, 1_000_003, 2 ** 24]) {
    const second = Buffer.alloc(length, 'a long text ');
    const both = crc32(second, crc32('start'));
    expect(combineCrc(crc32('start'), crc32(second), shiftOfBytes(length))).toBe(both);
  }
});

test('one more byte makes the checksum of the longer text', () => {
  fc.assert(
    fc.property(anyBytes, fc.integer({ min: 0, max: 255 }), (bytes, byte) => {
      expect(appendByteToCrc(crc32(bytes), byte)).toBe(crc32(Buffer.concat([bytes, Buffer.from([byte])])));
    }),
  );
});
