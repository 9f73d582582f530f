import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldLine, hideSecrets, jsonLine, quoteLines } from './printable.ts';

const SECRET = 'aisle_sk_0123456789abcdefghijklmnop';

test('a line stays one, and what goes on in the next row is set in', () => {
  expect(foldLine('a\nnext: b\tc', null)).toEqual(['a\\u{a}next: b    c']);
  expect(foldLine(`${'x'.repeat(40)}next: y`, 40)).toEqual(['x'.repeat(40), '    next: y']);
  expect(foldLine(`| ${'x'.repeat(38)}next: y`, 40)).toEqual([`| ${'x'.repeat(38)}`, '| next: y']);
  // Characters two columns wide.
  expect(foldLine('日'.repeat(30), 40)).toEqual(['日'.repeat(20), `    ${'日'.repeat(10)}`]);
});

test('no row but the first begins with what stands in a line, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 20, max: 80 }), (text, columns) => {
      const [, ...others] = foldLine(text.repeat(20), columns);
      for (const row of others) expect(row).toMatch(/^ {4}/);
    }),
  );
});

test('what steers a terminal is spelled out', () => {
  expect(hideSecrets('a\u001b[2K\r\u202eb')).toBe('a\\u{1b}[2K\\u{d}\\u{202e}b');
});

test('a longer text has its margin on every line', () => {
  expect(quoteLines('a\nnext: b\n')).toEqual([{ foreign: '| a' }, { foreign: '| next: b' }, { foreign: '|' }]);
});

test('a secret is hidden, also where characters that nobody sees stand in it', () => {
  const dressed = `${SECRET.slice(0, 12)}\u200b${SECRET.slice(12)}`;
  for (const text of [SECRET, dressed]) {
    expect(hideSecrets(`key ${text}.`)).toBe('key [secret].');
    expect(JSON.parse(jsonLine({ text }))).toEqual({ text: '[secret]' });
  }
  expect(JSON.parse(jsonLine({ text: 'a\u202eb\u001b' }))).toEqual({ text: 'a\u202eb\u001b' });
  expect(jsonLine({ text: 'a\u202eb\u001b' })).toBe('{"text":"a\\u202eb\\u001b"}');
});
