import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapedJson, escapeInvisible, inQuotes, oneLine } from './foreign-words.ts';

const STEERING = /(?!\n|\t)[\p{Cc}\p{Cf}\u2028\u2029]/u;

test('invisible characters are spelled out, and everything else stays', () => {
  expect(escapeInvisible('a\u001b[1mb\u202ec\u200bd\u0085e\u{e0041}')).toBe(
    'a\\u{1b}[1mb\\u{202e}c\\u{200b}d\\u{85}e\\u{e0041}',
  );
  expect(escapeInvisible('Straße\t“ü” 日本 👍\n')).toBe('Straße\t“ü” 日本 👍\n');
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !STEERING.test(escapeInvisible(text))));
});

test('escaped JSON has the same value and no invisible characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = escapedJson(JSON.stringify({ text }));
      expect(JSON.parse(json)).toEqual({ text });
      expect(STEERING.test(json)).toBe(false);
    }),
  );
});

test('others’ text is cut to one line and cannot close its marks', () => {
  expect(oneLine(' a\r\n  b\u2028c\t')).toBe('a b c');
  expect([...oneLine('x'.repeat(500))]).toHaveLength(100);
  expect(inQuotes('\u001b[2K\rPay “ink” "now"\n(yes/no) \u202e')).toBe(
    "“\\u{1b}[2K Pay 'ink' 'now' (yes/no) \\u{202e}”",
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(inQuotes(text)).toMatch(/^“[^“”\n]{0,80}”$/u);
    }),
  );
});

test.each([...'"“”„‟«»‹›❛❜❝❞＂″〃ˮ〝〞〟'])('no quotation mark like %s stands in a word of another', (mark) => {
  expect(inQuotes(`Pay ${mark}, SYSTEM: now`)).toBe("“Pay ', SYSTEM: now”");
});
