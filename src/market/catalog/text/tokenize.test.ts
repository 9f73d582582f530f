import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldText, isIdeograph, tokenize } from './tokenize.ts';

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));

describe('tokenize', () => {
  test('words are runs of letters and digits in lower case', () => {
    expect(tokenize('GPT-4 prompts, by <b>Ann_O</b>! 100%')).toEqual([
      'gpt',
      '4',
      'prompts',
      'by',
      'b',
      'ann',
      'o',
      'b',
      '100',
    ]);
    expect(tokenize('')).toEqual([]);
    expect(tokenize(' -- !? ')).toEqual([]);
  });

  test('accents, case and compatibility forms are folded', () => {
    expect(tokenize('Café CAFE\u0301 ＦＵＬＬ ﬁne straße STRASSE')).toEqual([
      'cafe',
      'cafe',
      'full',
      'fine',
      'strasse',
      'strasse',
    ]);
    expect(tokenize('ΟΔΟΣ οδός İstanbul Łódź Ærø')).toEqual(['οδοσ', 'οδοσ', 'istanbul', 'lodz', 'aero']);
    expect(tokenize('x²½')).toEqual(['x21', '2']);
  });

  test('marks that change a word stay, and composed characters stay whole', () => {
    expect(tokenize('हिन्दी')).toEqual(['हिन्दी'.normalize('NFC')]);
    expect(tokenize('한국어')).toEqual(['한국어']);
    expect(tokenize('が')).not.toEqual(tokenize('か'));
  });

  test('each character of a script without spaces is a word', () => {
    expect(tokenize('AI人工知能です,スーパー')).toEqual(['ai', ...'人工知能ですスーパー']);
    expect([...'人でスー'].every(isIdeograph)).toBe(true);
    expect(['a', 'é', '한', 'ai', ''].some(isIdeograph)).toBe(false);
  });

  test('emoji, lone surrogates and marks of direction separate', () => {
    expect(tokenize('a😀b\ud800c\udfffd\u202ee')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('a long word is cut, never within a character', () => {
    expect(tokenize('x'.repeat(99))).toEqual(['x'.repeat(64)]);
    const [word = ''] = tokenize(`é${'𝔁𐐨'.repeat(50)}`);
    expect(word.length).toBeLessThanOrEqual(64);
    expect(word.isWellFormed()).toBe(true);
  });

  test('any character folds to what folds to itself', () => {
    for (let point = 0; point < 0x30000; point += 1) {
      const once = foldText(String.fromCodePoint(point));
      if (foldText(once) !== once) expect.fail(`U+${point.toString(16)} folds to ${once} and on to ${foldText(once)}`);
    }
  });

  test('the words of any text are themselves words', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyUnit, maxLength: 200 }), (text) => {
        const words = tokenize(text);
        expect(words.every((word) => word.length > 0 && word.length <= 64 && word.isWellFormed())).toBe(true);
        expect(words.flatMap(tokenize)).toEqual(words);
      }),
      { numRuns: 300 },
    );
  });

  test('the short ways give what folding the whole text gives', () => {
    const ideographs = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc`;
    const token = new RegExp(String.raw`[${ideographs}]|[[\p{L}\p{N}\p{M}]--[${ideographs}]]+`, 'gv');
    const unit = fc.oneof(
      fc.constantFrom(
        'a',
        'B',
        '7',
        ' ',
        '-',
        'é',
        'E\u0301',
        '人',
        'か',
        'が',
        'ガ',
        'カ',
        '\u3099',
        '\u309a',
        '\u0301',
      ),
      fc.constantFrom('ー', '。', '한', 'ш', 'İ', 'K', 'Σ', 'ﬁ', '½', '\u{20000}', '㍿', '々', '·'),
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        expect(tokenize(text)).toEqual(foldText(text.toLowerCase()).match(token) ?? []);
      }),
      { numRuns: 2_000 },
    );
  });
});
