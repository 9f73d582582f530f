import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRangeOf, readRange } from './byte-range.ts';

test.each([
  ['bytes=0-9', { from: 0, to: 10 }],
  ['bytes=90-', { from: 90, to: 100 }],
  ['bytes=0-', { from: 0, to: 100 }],
  ['bytes=-10', { from: 90, to: 100 }],
  ['bytes=-1000', { from: 0, to: 100 }],
  ['bytes=99-99', { from: 99, to: 100 }],
  ['bytes=50-1000', { from: 50, to: 100 }],
  ['Bytes = 5 - 6', { from: 5, to: 7 }],
  [`bytes=1-${'9'.repeat(400)}`, { from: 1, to: 100 }],
] as const)('%s of 100 bytes is a part', (header, part) => {
  expect(readRange(header, 100)).toEqual(part);
});

test.each(['bytes=100-', 'bytes=100-200', 'bytes=-0', `bytes=${'9'.repeat(400)}-`])('%s is beyond', (header) => {
  expect(readRange(header, 100)).toBe('beyond');
});

test.each([
  ...[undefined, '', 'bytes', 'bytes=', 'bytes=-', 'bytes=5-4', 'bytes=a-b', 'bytes=0-1,3-4', 'bytes=0-1, 0-1'],
  ...[
    'bytes=--5',
    'bytes=-5-10',
    'bytes=0x0-0x9',
    'bytes=1.5-3',
    'bytes=+1-2',
    'lines=0-1',
    'bytes=0-1;',
    'bytes=1e1-',
  ],
  `bytes=${'9'.repeat(400)}-${'9'.repeat(399)}`,
])('%s is answered with the whole', (header) => {
  expect(readRange(header, 100)).toBe('whole');
});

test('a part is never empty and never outside of the goods', () => {
  const piece = fc.oneof(fc.constant(''), fc.nat(300).map(String), fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 250 }), piece, piece, (length, first, last) => {
      const range = readRange(`bytes=${first}-${last}`, length);
      if (typeof range === 'string') return;
      expect(range.from >= 0 && range.from < range.to && range.to <= length).toBe(true);
    }),
  );
});

test('a range is sent only to those who have a part of the same bytes', () => {
  expect(isRangeOf(undefined, '"a"')).toBe(true);
  expect(isRangeOf('"a"', '"a"')).toBe(true);
  for (const other of ['"b"', 'W/"a"', '', 'a', '"a", "b"', '*', 'Sat, 28 Nov 2026 00:00:00 GMT']) {
    expect(isRangeOf(other, '"a"')).toBe(false);
  }
});
