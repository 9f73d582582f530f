import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { foldText, isPair, readWords, tokenize } from './tokenize.ts';

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));

describe('tokenize', () => {
  test('words are runs of letters and digits in lower case', () => {
    const words = ['gpt', '4', 'prompts', 'by', 'b', 'ann', 'o', 'b', '100'];
    expect(tokenize('GPT-4 prompts, by <b>Ann_O</b>! 100%')).toEqual(words);
    expect(tokenize('')).toEqual([]);
    expect(tokenize(' -- !? ')).toEqual([]);
  });

  test('accents, case and compatibility forms are folded', () => {
    const words = ['cafe', 'cafe', 'full', 'fine', 'strasse', 'strasse'];
    expect(tokenize('Café CAFE\u0301 ＦＵＬＬ ﬁne straße STRASSE')).toEqual(words);
    expect(tokenize('ΟΔΟΣ οδός İstanbul Łódź Ærø')).toEqual(['οδοσ', 'οδοσ', 'istanbul', 'lodz', 'aero']);
    expect(tokenize('x²½')).toEqual(['x21', '2']);
  });

  test('marks that change a word stay, and composed characters stay whole', () => {
    expect(tokenize('हिन्दी')).toEqual(['हिन्दी'.normalize('NFC')]);
    expect(tokenize('한국어'.normalize('NFD'))).toEqual(tokenize('한국어'));
    expect(tokenize('が')).not.toEqual(tokenize('か'));
  });

  test('emoji, lone surrogates and marks of direction separate', () => {
    expect(tokenize('a😀b\ud800c\udfffd\u202ee')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('a long word is cut, never within a character', () => {
    expect(tokenize('x'.repeat(99))).toEqual(['x'.repeat(64)]);
    expect(tokenize(`${'x'.repeat(99)}人`)).toEqual(['x'.repeat(64), '人']);
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
        // A pair ends with a character that is the last of its run there.
        expect(words.map((word) => tokenize(word)[0])).toEqual(words);
      }),
      { numRuns: 300 },
    );
  });
});

describe('names with signs', () => {
  test.each([
    ['C++ and c++.', ['c++', 'and', 'c++']],
    ['(C++) g++ a++ cc++ c+ c +', ['c++', 'g++', 'a', 'cc', 'c', 'c']],
    ['C++17 c++x c++++', ['c++', '17', 'c++', 'x', 'c++']],
    ['Objective-C++/C#', ['objective', 'c++', 'c#']],
    ['C#, F# j# q# a# #c 9#', ['c#', 'f#', 'j#', 'q#', 'a', 'c', '9']],
    ['.NET .net8 .nets', ['.net', 'net8', 'nets']],
    ['(.NET) ..net /.net', ['.net', '.net', '.net']],
    ['ASP.NET asp.net vb.net 人.net', ['asp', 'net', 'asp', 'net', 'vb', 'net', '人', '.net']],
    ['node.js Node.JS', ['node', 'js', 'node', 'js']],
    ['net. #net', ['net', 'net']],
  ])('%s', (text, words) => {
    expect(tokenize(text)).toEqual(words);
  });

  test('stand beside scripts without spaces', () => {
    expect(tokenize('C++开发')).toEqual(['c++', '开发', '发']);
    expect(tokenize('使用C++开发')).toEqual(['使用', '用', 'c++', '开发', '发']);
    expect(tokenize('使用C#')).toEqual(['使用', '用', 'c#']);
  });

  test('end with the text, whatever a longer text had there before', () => {
    for (const stale of ['c+++++++', 'c#######', '........', 'net.net.', `${'+'.repeat(9_000)}`]) {
      for (const text of ['c', 'c+', 'xc', 'f', 'x c', 'net', 'c++', 'c#', '.net', `${'x '.repeat(30)}c`]) {
        const expected = tokenize(text);
        tokenize(stale.padEnd(text.length + 5, '+'));
        expect(tokenize(text), `${text} after ${stale.slice(0, 9)}`).toEqual(expected);
      }
    }
    tokenize('c++');
    expect(tokenize('c')).toEqual(['c']);
    tokenize('f#');
    expect(tokenize('f')).toEqual(['f']);
    tokenize('c++');
    expect(tokenize('c+')).toEqual(['c']);
  });

  test('also at the edges of the memory for a text', () => {
    for (let length = 4_090; length < 4_100; length += 1) {
      expect(tokenize('c++'.padStart(length)).at(-1)).toBe('c++');
      expect(tokenize('c'.padStart(length)).at(-1)).toBe('c');
      expect(tokenize('.net'.padStart(length)).at(-1)).toBe('.net');
    }
  });

  test('are found in any text as an expression finds them', () => {
    const token = /(?<![a-z0-9])(?:[cg]\+\+|[cfjq]#)|(?<![a-z0-9])\.net(?![a-z0-9])|[a-z0-9]+/g;
    const unit = fc.constantFrom('c', 'g', 'f', 'C', '.', '.net', 'NET', '+', '++', '#', ' ', 'x', '7', '-');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        expect(tokenize(text)).toEqual(text.toLowerCase().match(token) ?? []);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('scripts without spaces', () => {
  test.each([
    ['한국', ['한국', '국']],
    ['한국어 모델', ['한국', '국어', '어', '모델', '델']],
    ['AI人工知能です,スーパー', ['ai', '人工', '工知', '知能', '能で', 'です', 'す', 'スー', 'ーパ', 'パー', 'ー']],
    ['人々', ['人々', '々']],
    ['字', ['字']],
    ['gpt4用', ['gpt4', '用']],
    ['한국ai도구', ['한국', '국', 'ai', '도구', '구']],
    ['ภาษา', ['ภา', 'าษ', 'ษา', 'า']],
    ['𠀋𠀌𠀍', ['𠀋𠀌', '𠀌𠀍', '𠀍']],
    ['a𠀋b', ['a', '𠀋', 'b']],
    ['ｶﾞｲﾄﾞ', ['ガイ', 'イド', 'ド']],
  ])('%s is pairs of characters', (text, words) => {
    expect(tokenize(text)).toEqual(words);
    expect(words.every((word) => isPair(word) || /^[a-z0-9]+$/.test(word))).toBe(true);
  });

  test('no other word is a pair', () => {
    for (const word of ['a', 'é', 'ai', '', 'हि', 'да', '人工知', 'a人', '.net', 'c++', '\ud840']) {
      expect(isPair(word), word).toBe(false);
    }
  });

  test('the short ways give what folding the whole text gives', () => {
    const scripts = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
    const unspaced = `${scripts.map((script) => String.raw`\p{Script=${script}}`).join('')}\u30fc`;
    const token = new RegExp(`[${unspaced}]+|[[\\p{L}\\p{N}\\p{M}]--[${unspaced}]]+`, 'gv');
    const isUnspaced = new RegExp(`^[${unspaced}]`, 'v');
    const naive = (text: string): string[] =>
      (foldText(text.toLowerCase()).match(token) ?? []).flatMap((run) => {
        const characters = [...run];
        return isUnspaced.test(run) ? characters.map((one, at) => one + (characters[at + 1] ?? '')) : [run];
      });
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
      fc.constantFrom(
        'ー',
        '。',
        '한',
        '국',
        '\u1112',
        '\u1161',
        '\u11ab',
        'ㅎ',
        'ก',
        'ำ',
        'ก',
        'ш',
        'İ',
        'K',
        'Σ',
        'ﬁ',
      ),
      fc.constantFrom('½', '\u{20000}', '㍿', '々', '·', 'ｶ', 'ﾞ', 'ﾡ', 'ກ', 'က', 'ក', '\u{1b000}', 'ı', '〆', '〇'),
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        // The signs of names are tested above.
        const plain = text.replace(/[.+#]/g, ' ');
        expect(tokenize(plain)).toEqual(naive(plain));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('other spellings', () => {
  function variantsOf(text: string): string[] {
    const variants: string[] = [];
    readWords(
      text,
      () => {},
      (word) => variants.push(word),
    );
    return variants;
  }

  test.each([
    ['Müll', 'mull', 'muell'],
    ['MU\u0308LL', 'mull', 'muell'],
    ['Größe', 'grosse', 'groesse'],
    ['Ærø', 'aero', 'aeroe'],
    ['Ångström', 'angstrom', 'aangstroem'],
  ])('%s is %s, and %s too', (text, word, variant) => {
    expect(tokenize(text)).toEqual([word]);
    // Ask twice, because folded words are kept.
    for (let time = 0; time < 2; time += 1) expect(variantsOf(text)).toEqual([variant]);
  });

  test('stand only where a letter is written with two', () => {
    for (const text of ['café', 'muell', 'Straße', 'İstanbul', '人ü', 'naïve', 'Łódź'])
      expect(variantsOf(text)).toEqual([]);
    expect(variantsOf(`${'ü'.repeat(60)}`)).toEqual(['ue'.repeat(32)]);
  });
});
