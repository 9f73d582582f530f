import { describe, expect, it } from 'vitest';
import { drawableText, fitText, openFaces, shortenText, widthOf } from './compose-card.ts';

const { 700: bold } = openFaces();

describe('letters', () => {
  it('of Europe are drawn as they are, with their marks', () => {
    for (const text of ['Größe, Łódź, Αθήνα, Москва, Việt Nam: 4,00 €', 'x\u0323 ἄνθρωπος Ґ ѫ “q” № ½ → <&>'])
      expect(drawableText(text, bold)).toBe(text);
  });

  it('differ in width and in weight, and marks take no room', () => {
    const { 400: plain } = openFaces();
    const widths = (text: string, face = bold) => [...text].map((letter) => face.advanceOf(letter) ?? Number.NaN);
    const [wide = 0, narrow = 0, space = 0] = widths('Wi ');
    expect(wide).toBeGreaterThan(3 * narrow);
    expect(space).toBeGreaterThan(0.15);
    expect(widths('Wi', plain).every((width, at) => width < (widths('Wi')[at] ?? 0))).toBe(true);
    expect(widths('\u0323')).toEqual([0]);
    for (const letter of '中ש😀\u{fe0f}\u{10ffff}')
      expect([letter, bold.advanceOf(letter)]).toEqual([letter, undefined]);
  });

  it('that the font lacks are left out, as long as half of the text is left', () => {
    expect(drawableText('Postgres 索引 advisor 😀', bold)).toBe('Postgres advisor');
    expect(drawableText('a\u202eb\u200d\u{e0041}\u0000c', bold)).toBe('abc');
    expect(drawableText('two\n\tlines  of it', bold)).toBe('two lines of it');
    for (const lost of [
      '从合同中读取发票',
      'قراءة الفواتير',
      'AI 从合同中读取发票',
      '😀',
      '',
      '  ',
      '\u{fffd}\u{fffd}',
    ])
      expect([lost, drawableText(lost, bold)]).toEqual([lost, null]);
  });
});

describe('lines', () => {
  const rooms = [
    { size: 60, lines: 2 },
    { size: 40, lines: 2 },
  ];
  const fitted = (text: string) => fitText(text, { width: 400, rooms }, bold);

  it('are as large as they can be, and break between words', () => {
    expect(fitted('Reading of invoices')).toEqual({ size: 60, lines: ['Reading of', 'invoices'] });
    expect(fitted('Reading of all invoices and bills')).toEqual({
      size: 40,
      lines: ['Reading of all', 'invoices and bills'],
    });
  });

  it('are never wider than their room, whatever stands in them', () => {
    for (const text of [
      'W'.repeat(300),
      'i'.repeat(300),
      'word '.repeat(99),
      `short ${'W'.repeat(99)} short`,
      '-'.repeat(80),
    ]) {
      const { size, lines } = fitted(text);
      expect(lines.length).toBe(2);
      for (const line of lines) expect(widthOf(line, size, bold)).toBeLessThanOrEqual(400);
      expect(lines.at(-1)?.endsWith('…')).toBe(true);
    }
  });

  it('are cut only where they must be', () => {
    expect(shortenText('ink', { size: 28, width: 400, face: bold }, false)).toBe('ink');
    expect(shortenText('ink-and-paper', { size: 28, width: 100, face: bold }, false)).toMatch(/^ink.*…$/);
  });
});
