import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { openFont } from './open-font.ts';

const { resolve } = createRequire(import.meta.url);
const read = (subset: string): Buffer =>
  readFileSync(resolve(`@fontsource/inter/files/inter-${subset}-400-normal.woff`));
const codeOf = (letter: string): number => letter.codePointAt(0) ?? 0;

it('knows which letters a file has, and that they differ in width', () => {
  const latin = openFont(read('latin'), 'latin');
  const [wide = 0, narrow = 0] = ['W', 'i'].map((letter) => latin.advanceOf(codeOf(letter)));
  expect(wide).toBeGreaterThan(3 * narrow);
  expect(narrow / latin.unitsPerEm).toBeGreaterThan(0.15);
  for (const letter of 'Ω中ש😀') expect([letter, latin.advanceOf(codeOf(letter))]).toEqual([letter, undefined]);
  const greek = openFont(read('greek'), 'greek');
  expect(greek.advanceOf(codeOf('Ω'))).toBeGreaterThan(0);
  expect(greek.advanceOf(codeOf('Ж'))).toBeUndefined();
});

it('puts the tables where its directory says, and the family among them', () => {
  const { bytes } = openFont(read('greek'), 'a-family');
  const font = Buffer.from(bytes);
  expect(font.readUInt32BE(0)).toBe(0x0001_0000);
  const tables = Array.from({ length: font.readUInt16BE(4) }, (_, index) => {
    const at = 12 + index * 16;
    const from = font.readUInt32BE(at + 8);
    return { tag: font.toString('latin1', at, at + 4), from, to: from + font.readUInt32BE(at + 12) };
  });
  for (const { from, to } of tables) {
    expect(from % 4).toBe(0);
    expect(to).toBeLessThanOrEqual(font.length);
  }
  expect(tables.map(({ tag }) => tag)).toEqual(expect.arrayContaining(['cmap', 'glyf', 'head', 'hmtx', 'name']));
  const names = tables.find(({ tag }) => tag === 'name');
  expect(font.subarray(names?.from, names?.to).includes(Buffer.from('a-family', 'utf16le').swap16())).toBe(true);
});

it('refuses what is no such file', () => {
  expect(() => openFont(Buffer.alloc(64), 'none')).toThrow('this is no WOFF file');
});
