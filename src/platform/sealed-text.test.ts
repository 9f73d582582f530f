import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemRandom } from './random.ts';
import { openSealed, sealText } from './secrets.ts';

const [one, other] = [systemRandom.bytes(32), systemRandom.bytes(32)];

test('what was sealed with one of the keys is read, whatever it is, and nothing else', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const sealed = sealText(one, text);
      expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(sealText(one, text)).toBe(sealed);
      if (text !== '') expect(openSealed([other, one], sealed)).toBe(text);
      expect(openSealed([other], sealed)).toBeNull();
    }),
  );
});

test('a changed, cut or lengthened text cannot be opened', () => {
  const sealed = sealText(one, 'the terms of a payment');
  const bytes = Buffer.from(sealed, 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(openSealed([one], changed.toString('base64url'))).toBeNull();
    expect(openSealed([one], bytes.subarray(0, at).toString('base64url'))).toBeNull();
  }
  expect(openSealed([one], `${sealed}AAAA`)).toBeNull();
  expect(openSealed([one], 'not base64url!')).toBeNull();
});
