import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attachmentOf } from './content-disposition.ts';

test.each([
  ['goods.zip', 'attachment; filename="goods.zip"'],
  ['two words.txt', 'attachment; filename="two words.txt"'],
  ['naïve.txt', `attachment; filename="na_ve.txt"; filename*=UTF-8''na%C3%AFve.txt`],
  ['a"b\\c.txt', `attachment; filename="a_b_c.txt"; filename*=UTF-8''a%22b%5Cc.txt`],
  ['../../etc/passwd', `attachment; filename=".._.._etc_passwd"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`],
  ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
  ['🙂.bin', `attachment; filename="_.bin"; filename*=UTF-8''%F0%9F%99%82.bin`],
  ["it's.txt", `attachment; filename="it's.txt"`],
])('%s', (name, header) => {
  expect(attachmentOf(name)).toBe(header);
});

test('whatever the name, the header is one line of printable ASCII, and the name can be read back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }), (name) => {
      const header = attachmentOf(name);
      expect(header).toMatch(/^attachment; filename="[^"\\]*"(?:; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+)?$/);
      expect(header).toMatch(/^[\x20-\x7e]+$/);
      const extended = /filename\*=UTF-8''(.*)$/.exec(header)?.[1];
      if (extended !== undefined) expect(decodeURIComponent(extended)).toBe(name.toWellFormed());
    }),
  );
});
