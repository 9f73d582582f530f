import { describe, expect, it } from 'vitest';
import { isSafeLink, markedText, nameInvisibleCharacters } from '../wording.ts';
import { safeFileName } from './file-name.ts';

const point = (code: number): string => String.fromCodePoint(code);

describe('characters that cannot be seen', () => {
  it('are named in their place, and lines and tabs stay', () => {
    expect(nameInvisibleCharacters(`a${point(0x202e)}b\n\tc\r\nd${point(7)}`)).toEqual([
      { text: 'a' },
      { unseen: 'U+202E' },
      { text: 'b\n\tc\nd' },
      { unseen: 'U+0007' },
    ]);
    expect(nameInvisibleCharacters('plain')).toEqual([{ text: 'plain' }]);
    expect(nameInvisibleCharacters('')).toEqual([]);
  });

  it('are marked even where there are more than a page can name', () => {
    const runs = nameInvisibleCharacters(`x${point(0x200b)}`.repeat(5_000));
    expect(runs).toEqual([{ text: `x${point(0xfffd)}`.repeat(5_000) }]);
  });

  it('stand in a line as one sign', () => expect(markedText(`a${point(0x200b)}\n b`)).toBe(`a${point(0xfffd)} b`));

  it('marks piled on one letter are cut', () => expect(markedText(`Z${point(0x300).repeat(400)}`)).toHaveLength(4));
});

describe('the name of the file', () => {
  it.each([
    ['skill.md', 'skill.md'],
    ['../../etc/passwd', 'etc_passwd'],
    ['..\\..\\x.exe', 'x.exe'],
    ['.bashrc', 'bashrc'],
    ['con.txt', 'file-con.txt'],
    ['a"b<c>.txt', 'a_b_c_.txt'],
    [`report${point(0x202e)}fdp.exe`, 'report_fdp.exe'],
    ['name. ', 'name'],
    ['   ', 'openaisle-7.txt'],
    [null, 'openaisle-7.txt'],
    ['x'.repeat(300), 'x'.repeat(100)],
  ])('%j becomes %j', (wished, name) => expect(safeFileName(wished, 7, 'text/plain; charset=utf-8')).toBe(name));

  it('ends as its type does where none is wished for', () => {
    expect(safeFileName(null, 7, 'application/x-thing')).toBe('openaisle-7.bin');
    expect(safeFileName(null, 7, 'text/markdown')).toBe('openaisle-7.md');
  });
});

describe('addresses', () => {
  it.each(['https://example.org/a?b=c#d', 'http://example.org'])('%s may be followed', (address) =>
    expect(isSafeLink(address)).toBe(true),
  );

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/shelves',
    'https://market.example@evil.example/',
    'https://evil.example/\\x',
    `https://ex${point(0x430)}mple.org`,
    'https://',
    ` https://example.org`,
    `https://example.org/${'x'.repeat(2_000)}`,
  ])('%s may not', (address) => expect(isSafeLink(address)).toBe(false));
});
