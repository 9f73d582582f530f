import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { gzipAround, packPart } from './pack-part.ts';

const anyBytes = fc.uint8Array({ maxLength: 3_000 });

test('what is put around a part comes out around what the part holds', () => {
  fc.assert(
    fc.property(anyBytes, anyBytes, anyBytes, (prefix, middle, suffix) => {
      const file = gzipAround(prefix, packPart(middle), suffix);
      expect(gunzipSync(file).equals(Buffer.concat([prefix, middle, suffix]))).toBe(true);
    }),
  );
});

test('a part may be long, and stand in many files', () => {
  const middle = Buffer.from('a long text of words '.repeat(20_000));
  const part = packPart(middle);
  expect(part.bytes.byteLength).toBeLessThan(middle.byteLength / 20);
  for (const around of ['', 'x', 'y'.repeat(70_000)]) {
    const file = gzipAround(Buffer.from(around), part, Buffer.from(around));
    expect(gunzipSync(file).toString()).toBe(`${around}${middle}${around}`);
  }
});
