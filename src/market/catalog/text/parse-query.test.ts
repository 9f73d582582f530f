import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuery } from './parse-query.ts';

/** Any code point, lone surrogates included. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));

/** Returns the terms of a query in the order written. */
function written(q: string): string[] {
  return parseQuery(q).terms.map(({ kind, words, excluded }) => {
    const text = words.join(' ');
    return `${excluded ? '-' : ''}${kind === 'phrase' ? `"${text}"` : text}${kind === 'beginning' ? '*' : ''}`;
  });
}

describe('parseQuery', () => {
  test('words, phrases and what is left out', () => {
    expect(written('Logo "Art Deco" -free -"clip art" pack ')).toEqual([
      'logo',
      '"art deco"',
      '-free',
      '-"clip art"',
      'pack',
    ]);
  });

  test('the last word is a beginning, unless it is short, quoted, excluded or ended', () => {
    expect(written('art dec')).toEqual(['art', 'dec*']);
    expect(written('art de')).toEqual(['art', 'de']);
    expect(written('art deco ')).toEqual(['art', 'deco']);
    expect(written('art deco!')).toEqual(['art', 'deco']);
    expect(written('"art deco"')).toEqual(['"art deco"']);
    expect(written('"art deco')).toEqual(['"art deco"']);
    expect(written('art -deco')).toEqual(['art', '-deco']);
    expect(written('art-deco')).toEqual(['art', 'deco*']);
    expect(written('caf\u00e9')).toEqual(['cafe*']);
  });

  test('a minus excludes only where a word begins', () => {
    expect(written('gpt-4 ')).toEqual(['gpt', '4']);
    expect(written('--art ')).toEqual(['-art']);
    expect(written('- art ')).toEqual(['art']);
    expect(written('-e-mail ')).toEqual(['-"e mail"']);
    expect(written('"a b"-c ')).toEqual(['"a b"', 'c']);
  });

  test('quotation marks of word processors count, and quotes need no space', () => {
    expect(written('“art deco” ')).toEqual(['"art deco"']);
    expect(written('a"b c"d ')).toEqual(['a', '"b c"', 'd']);
    expect(written('"" a ')).toEqual(['a']);
  });

  test('neighbours in a script without spaces are a phrase', () => {
    expect(written('人工 知')).toEqual(['"人 工"', '知']);
    expect(written('AI人工art')).toEqual(['ai', '"人 工"', 'art*']);
  });

  test('nothing but marks is a query without terms', () => {
    for (const q of ['', ' ', '-', '"', '""', '-"', '!?', '- - -', '"-"', '😀', '\ud800']) {
      expect(parseQuery(q), q).toEqual({ key: '', terms: [] });
    }
  });

  test('the key is the same for the same question', () => {
    expect(parseQuery('Art  LOGO art -x ').key).toBe(parseQuery('logo, -X árt ').key);
    const different = ['art logo ', 'art logo', '"art logo"', 'art -logo', '-art logo ', 'artlogo ', 'art "logo"'];
    expect(new Set(different.map((q) => parseQuery(q).key)).size).toBe(different.length);
  });

  test('any text has terms that are words, and the same terms when they are written again', () => {
    const nasty = fc.oneof(
      fc.string({ unit: anyUnit, maxLength: 100 }),
      fc.string({
        unit: fc.constantFrom(
          '"',
          '-',
          ' ',
          '\t',
          'a',
          'É',
          '人',
          '<b>',
          '😀',
          '\u05d0',
          '\u202e',
          '\ud800',
          '\u0301',
          'ﷺ',
        ),
        maxLength: 100,
      }),
    );
    fc.assert(
      fc.property(nasty, (q) => {
        const { key, terms } = parseQuery(q);
        const again = written(q).join(' ').replace('*', '');
        const isOpen = terms.some(({ kind }) => kind === 'beginning');
        // Append a space, because a beginning can only end a query.
        if (!isOpen) expect(parseQuery(`${again} `).key).toBe(key);
        expect(new Set(terms.map((term) => JSON.stringify(term))).size).toBe(terms.length);
      }),
      { numRuns: 500 },
    );
  });
});
