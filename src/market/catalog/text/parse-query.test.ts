import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery, type QueryTerm } from './parse-query.ts';

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));
const SIGNS: Readonly<Record<QueryTerm['need'], string>> = { wanted: '', required: '+', excluded: '-' };

/** Returns the terms of a query in the order written. A run of pairs has no quotes. */
function written(q: string): string[] {
  return parseQuery(q).terms.map(({ kind, words, need }) => {
    const text = kind === 'phrase' && need !== 'wanted' ? `"${words.join(' ')}"` : words.join(' ');
    return `${kind === 'phrase' && need === 'required' ? '' : SIGNS[need]}${text}${kind === 'beginning' ? '*' : ''}`;
  });
}

function variantsOf(q: string): string[] {
  return parseQuery(q).variants.map(({ word, words }) => `${word}: ${words.join(' ')}`);
}

describe('parseQuery', () => {
  test('words, phrases, what must be there and what is left out', () => {
    const terms = ['logo', '"art deco"', '-free', '-"clip art"', '+svg', 'pack'];
    expect(written('Logo "Art Deco" -free -"clip art" +SVG pack ')).toEqual(terms);
  });

  test('the last word is a beginning, unless it is short, quoted, excluded or ended', () => {
    expect(written('art dec')).toEqual(['art', 'dec*']);
    expect(written('art de')).toEqual(['art', 'de']);
    expect(written('art deco ')).toEqual(['art', 'deco']);
    expect(written('art deco!')).toEqual(['art', 'deco']);
    expect(written('"art deco"')).toEqual(['"art deco"']);
    expect(written('"art deco')).toEqual(['"art deco"']);
    expect(written('art -deco')).toEqual(['art', '-deco']);
    expect(written('art +deco')).toEqual(['art', '+deco*']);
    expect(written('art-deco')).toEqual(['art', 'deco*']);
    expect(written('caf\u00e9')).toEqual(['cafe*']);
  });

  test('a sign counts only where a word begins', () => {
    expect(written('gpt-4 ')).toEqual(['gpt', '4']);
    expect(written('--art -- ')).toEqual(['art']);
    expect(written('++art ++ ')).toEqual(['art']);
    expect(written('npm --save-dev -x ')).toEqual(['npm', 'save', 'dev', '-x']);
    expect(written('- art ')).toEqual(['art']);
    expect(written('+ art ')).toEqual(['art']);
    expect(written('art+deco ')).toEqual(['art', 'deco']);
    expect(written('-e-mail ')).toEqual(['-"e mail"']);
    expect(written('+e-mail ')).toEqual(['+e', '+mail']);
    expect(written('"a b"-c ')).toEqual(['"a b"', 'c']);
    expect(written('+"a b" -"c d" ')).toEqual(['"a b"', '-"c d"']);
    expect(written('+-art -+deco ')).toEqual(['+art', '-deco']);
  });

  test('names with signs keep them, also as the last word', () => {
    expect(written('c++')).toEqual(['c++']);
    expect(written('+c++')).toEqual(['+c++']);
    expect(written('-c++ c# .net ')).toEqual(['-c++', 'c#', '.net']);
    expect(written('"c++ code" -.net')).toEqual(['"c++ code"', '-.net']);
    expect(written('node.js asp.net')).toEqual(['node', 'js', 'asp', 'net*']);
  });

  test('quotation marks of word processors count, and quotes need no space', () => {
    expect(written('“art deco” ')).toEqual(['"art deco"']);
    expect(written('«art» „deco“ ')).toEqual(['"art"', '"deco"']);
    expect(written('a"b c"d ')).toEqual(['a', '"b c"', 'd']);
    expect(written('"" a ')).toEqual(['a']);
  });

  test('a run of a script without spaces is one term of its pairs, without the last character', () => {
    expect(written('人工 知')).toEqual(['人工', '知*']);
    expect(written('人工知能 ')).toEqual(['人工 工知 知能']);
    expect(written('AI人工art')).toEqual(['ai', '人工', 'art*']);
    expect(written('한국어')).toEqual(['한국 국어']);
    expect(written('-人工知 -知 +한국어 +국 ')).toEqual(['-"人工 工知"', '-知*', '"한국 국어"', '+국*']);
    expect(written('"人工知" "知" "a 知" ')).toEqual(['"人工 工知"', '"知"', '"a 知"']);
    expect(written('𠀋𠀌𠀍')).toEqual(['𠀋𠀌 𠀌𠀍']);
    expect(written('𠀋')).toEqual(['𠀋*']);
    expect(written('字a字b')).toEqual(['字*', 'a', 'b']);
  });

  test('nothing but marks is a query without terms', () => {
    for (const q of ['', ' ', '-', '+', '"', '""', '-"', '+"', '!?', '- - -', '+ -', '"-"', '😀', '\ud800']) {
      expect(parseQuery(q), q).toEqual({ key: '', terms: [], variants: [], typed: new Set() });
    }
  });

  test('the key is the same for the same question', () => {
    expect(parseQuery('Art  LOGO art -x +y ').key).toBe(parseQuery('+Y logo, -X árt ').key);
    const different = [
      ...['art logo ', 'art logo', '"art logo"', 'art -logo', '-art logo ', 'artlogo ', 'art "logo"', 'art +logo '],
      ...['art +logo', '人工', '人 工', '"人工"', '人工知', '"人工 知"', 'c++ ', 'c ', '+c ', '-c '],
    ];
    expect(new Set(different.map((q) => parseQuery(q).key)).size).toBe(different.length);
    // Only the first words of a long query are searched, so their order matters.
    const long = Array.from({ length: 33 }, (_, at) => `w${at}`);
    expect(parseQuery(long.join(' ')).key).not.toBe(parseQuery(long.toReversed().join(' ')).key);
    const run = '人工知能は世界を変える技術であり今後も発展していくだろうと思われるので学ぶべきだ';
    expect(parseQuery(`${run} art data `).key).not.toBe(parseQuery(`data art ${run} `).key);
    const few = long.slice(0, 31);
    expect(parseQuery(`${few.join(' ')} `).key).toBe(parseQuery(`${few.toReversed().join(' ')} `).key);
  });

  test('the typed words are those that are wanted or required', () => {
    expect([...parseQuery('the "art deco" +logo -free -"a b" 人工 art').typed]).toEqual([
      ...['the', 'art', 'deco', 'logo', '人工', '工'],
    ]);
  });

  test('other spellings name the words that they stand for', () => {
    expect(variantsOf('a front end dev')).toEqual(['frontend: front end']);
    expect(variantsOf('front-end ')).toEqual(['frontend: front end']);
    expect(variantsOf('+front end ')).toEqual(['frontend: front end']);
    expect(variantsOf('to do')).toEqual(['todo: to do']);
    expect(variantsOf('node.js app')).toEqual(['nodejs: node js']);
    expect(variantsOf('command line interface')).toEqual(['cli: command line interface']);
    expect(variantsOf('Müll Größe')).toEqual(['muell: mull', 'groesse: grosse']);
    for (const q of ['frontend', 'front -end', '"front end"', 'front "x" end', '-front-end', 'end front']) {
      expect(variantsOf(q), q).toEqual([]);
    }
  });

  test('any text has terms that are words, and the same terms when they are written again', () => {
    const signs = [
      '"',
      '-',
      '+',
      ' ',
      '\t',
      'a',
      'É',
      '人',
      '工',
      '한',
      '<b>',
      '😀',
      '\u05d0',
      '\u202e',
      '\ud800',
      'c#',
    ];
    const nasty = fc.oneof(
      fc.string({ unit: anyUnit, maxLength: 200 }),
      fc.string({ unit: fc.constantFrom(...signs, '\u0301', 'ﷺ', 'front', 'end', 'ü'), maxLength: 100 }),
    );
    fc.assert(
      fc.property(nasty, (q) => {
        const { key, terms, variants, typed } = parseQuery(q);
        expect(new Set(terms.map((term) => JSON.stringify(term))).size).toBe(terms.length);
        for (const { word, words } of variants) {
          expect(word).not.toBe('');
          expect(words.every((one) => typed.has(one))).toBe(true);
        }
        // Runs of pairs lose their last character, variants their letters, and a beginning can only end a query.
        if (variants.length > 0) return;
        if (terms.some(({ kind, words }) => kind === 'beginning' || words.some((word) => word > '\u0e00'))) return;
        expect(parseQuery(`${written(q).join(' ')} `).key).toBe(key);
      }),
      { numRuns: 1_000 },
    );
  });
});
