import { inflateSync } from 'node:zlib';

/** A font in the form that programs draw with (sfnt), and what can be read of it without drawing. */
export interface OpenFont {
  bytes: Uint8Array;
  unitsPerEm: number;
  /** How far a letter moves the pen, in units; undefined: the font has no such letter. */
  advanceOf(codePoint: number): number | undefined;
}

const WOFF = 0x774f4646;
const WOFF_HEAD = 44;
const WOFF_ENTRY = 20;
const SFNT_HEAD = 12;
const SFNT_ENTRY = 16;

interface Table {
  tag: string;
  checksum: number;
  bytes: Buffer;
}

/**
 * Reads a WOFF file (W3C, version 1): tables of an sfnt font, each packed by itself. It gets a family name of its own, since files
 * that hold the parts of one font all have the same.
 */
export function openFont(file: Buffer, family: string): OpenFont {
  if (file.readUInt32BE(0) !== WOFF) throw new Error('this is no WOFF file');
  const tables = readTables(file).map((one) => (one.tag === 'name' ? { ...one, bytes: writeNames(family) } : one));
  const table = (tag: string): Buffer => {
    const found = tables.find((one) => one.tag === tag);
    if (found === undefined) throw new Error(`the font has no table ${tag}`);
    return found.bytes;
  };
  const glyphs = readGlyphs(table('cmap'));
  const widths = readWidths(table('hmtx'), table('hhea').readUInt16BE(34));
  return {
    bytes: writeSfnt(file.readUInt32BE(4), tables),
    unitsPerEm: table('head').readUInt16BE(18),
    advanceOf: (codePoint) => {
      const glyph = glyphs.get(codePoint);
      return glyph === undefined ? undefined : widths(glyph);
    },
  };
}

function readTables(file: Buffer): Table[] {
  return Array.from({ length: file.readUInt16BE(12) }, (_, index) => {
    const at = WOFF_HEAD + index * WOFF_ENTRY;
    const offset = file.readUInt32BE(at + 4);
    const packedLength = file.readUInt32BE(at + 8);
    const length = file.readUInt32BE(at + 12);
    const packed = file.subarray(offset, offset + packedLength);
    return {
      tag: file.toString('latin1', at, at + 4),
      checksum: file.readUInt32BE(at + 16),
      bytes: packedLength < length ? inflateSync(packed) : packed,
    };
  });
}

const FAMILY_NAME = 1;
const POSTSCRIPT_NAME = 6;

/** The two names without which a font is not taken, in the one language that every reader looks for (Windows, Unicode, English). */
function writeNames(family: string): Buffer {
  const text = Buffer.from(family, 'utf16le').swap16();
  const ids = [FAMILY_NAME, POSTSCRIPT_NAME];
  const textAt = 6 + 12 * ids.length;
  const values = [0, ids.length, textAt, ...ids.flatMap((id) => [3, 1, 0x409, id, text.length, 0])];
  const head = Buffer.alloc(textAt);
  for (const [index, value] of values.entries()) head.writeUInt16BE(value, 2 * index);
  return Buffer.concat([head, text]);
}

/** Tables behind one another, each at a multiple of four. What a search of the directory would use is left at zero. */
function writeSfnt(flavor: number, tables: readonly Table[]): Uint8Array {
  const padded = tables.map(({ bytes }) => Math.ceil(bytes.length / 4) * 4);
  const begin = SFNT_HEAD + tables.length * SFNT_ENTRY;
  const font = Buffer.alloc(begin + padded.reduce((sum, length) => sum + length, 0));
  font.writeUInt32BE(flavor, 0);
  font.writeUInt16BE(tables.length, 4);
  let offset = begin;
  for (const [index, { tag, checksum, bytes }] of tables.entries()) {
    const at = SFNT_HEAD + index * SFNT_ENTRY;
    font.write(tag, at, 'latin1');
    font.writeUInt32BE(checksum, at + 4);
    font.writeUInt32BE(offset, at + 8);
    font.writeUInt32BE(bytes.length, at + 12);
    bytes.copy(font, offset);
    offset += padded[index] ?? 0;
  }
  return font;
}

/** Which glyph stands for which letter: Unicode tables of the two forms that fonts have (cmap formats 4 and 12). */
function readGlyphs(cmap: Buffer): Map<number, number> {
  const glyphs = new Map<number, number>();
  for (let index = 0; index < cmap.readUInt16BE(2); index += 1) {
    const part = cmap.subarray(cmap.readUInt32BE(4 + index * 8 + 4));
    const format = part.readUInt16BE(0);
    if (format === 4) readSegments(part, glyphs);
    if (format === 12) readGroups(part, glyphs);
  }
  return glyphs;
}

function readSegments(part: Buffer, glyphs: Map<number, number>): void {
  const double = part.readUInt16BE(6);
  for (let at = 0; at < double; at += 2) {
    const end = part.readUInt16BE(14 + at);
    const start = part.readUInt16BE(16 + double + at);
    const delta = part.readUInt16BE(16 + 2 * double + at);
    const rangeAt = 16 + 3 * double + at;
    const range = part.readUInt16BE(rangeAt);
    for (let code = start; code <= end && code !== 0xffff; code += 1) {
      const listed = range === 0 ? code : part.readUInt16BE(rangeAt + range + 2 * (code - start));
      const glyph = listed === 0 ? 0 : (listed + delta) & 0xffff;
      if (glyph !== 0) glyphs.set(code, glyph);
    }
  }
}

function readGroups(part: Buffer, glyphs: Map<number, number>): void {
  for (let index = 0; index < part.readUInt32BE(12); index += 1) {
    const at = 16 + index * 12;
    const start = part.readUInt32BE(at);
    const end = part.readUInt32BE(at + 4);
    const first = part.readUInt32BE(at + 8);
    for (let code = start; code <= end; code += 1) glyphs.set(code, first + code - start);
  }
}

/** The last width holds for all glyphs behind it. */
function readWidths(hmtx: Buffer, count: number): (glyph: number) => number {
  return (glyph) => hmtx.readUInt16BE(4 * Math.min(glyph, count - 1));
}
