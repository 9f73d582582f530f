import { describe, expect, it } from 'vitest';
import { jsonLineOf, lineOf, shown } from './print.ts';

const HOSTILE: readonly (readonly [name: string, text: string])[] = [
  ['a line break', 'a\nFAULT: none'],
  ['a carriage return', 'a\r0 faults'],
  ['an escape sequence', 'a\u001b[2J\u001b[H'],
  ['a control of eight bits', 'a\u009b2J'],
  ['a mark of direction', 'a\u202eb\u2066c'],
  ['a tag that shows nothing', 'a\u{e0041}'],
  ['a joiner', 'a\u200d\u200bb'],
  ['a line separator', 'a\u2028b\u2029'],
  ['a variation selector', 'a\ufe0f'],
  ['half a character', 'a\ud800'],
  ['a blank that is none', 'a\u00a0\u3000\u2800\u115f'],
  ['a byte order mark', '\ufeffa'],
];

describe('what is printed', () => {
  it.each(HOSTILE)('shows %s as its code, on one line', (_name, text) => {
    const line = lineOf(text);
    expect(line).toMatch(/^[\u0020-\u007e]*$/);
    expect(line).toContain('\\u{');
    expect(shown(text)).toMatch(/^[\u0020-\u007e]*$/);
  });

  it.each(HOSTILE)('as JSON keeps %s and prints none of it', (_name, text) => {
    const line = jsonLineOf({ [text]: [text] });
    expect(line).toMatch(/^[\u0020-\u007e]*$/);
    expect(JSON.parse(line)).toEqual({ [text]: [text] });
  });

  it('leaves words as they are, in whatever script', () => {
    const text = 'événement 12, 店铺, заметка: 0x1f \u2026';
    expect(lineOf(text)).toBe(text);
    expect(JSON.parse(jsonLineOf(text))).toBe(text);
  });

  it('piles no marks on a letter', () => {
    expect(lineOf(`e${'\u0301'.repeat(9)}`)).toBe(`e\u0301\u0301\u0301${'\\u{301}'.repeat(6)}`);
  });

  it('is cut before anything else is done', () => {
    const begun = performance.now();
    expect(lineOf('\u0301'.repeat(50_000_000)).length).toBeLessThan(9_000);
    expect(shown('\u202e'.repeat(50_000_000)).length).toBeLessThan(700);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });
});
