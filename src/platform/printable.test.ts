import { expect, test } from 'vitest';
import { printableJson, printableLine, printableLines } from './printable.ts';

const HOSTILE = 'a\u001b[2J\u009b1A\u202e\u2028\u{e0041}\r\nb\ud800';
const PLAIN = /^[\u0020-\u007e]*$/;

test('what another program says is one line, with the unseen as its code', () => {
  expect(printableLine(HOSTILE)).toMatch(PLAIN);
  expect(printableLine(HOSTILE)).toContain('\\u{1b}[2J');
  expect(printableLine('x'.repeat(1_000_000))).toHaveLength(2_000);
  expect(printableLine('gewöhnliche Wörter, 普通')).toBe('gewöhnliche Wörter, 普通');
});

test('lines of a report stay lines, and JSON says the same as before', () => {
  expect(printableLines('one\ntwo\u001b\n')).toBe('one\ntwo\\u{1b}\n');
  expect(printableJson({ said: HOSTILE })).toMatch(PLAIN);
  expect(JSON.parse(printableJson({ said: HOSTILE }))).toEqual({ said: HOSTILE });
});
