import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import inter from '@expo-google-fonts/inter/metadata.json' with { type: 'json' };
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { html } from 'ghtml';
import { cutPiles } from '../../../contract/text.ts';
import { CARD, type CardQuestion, hexOfOklch } from './picture-question.ts';

/** As the files call themselves. */
const FAMILY = inter.family;
type Weight = 400 | 700;

/** The letters of one weight: Latin with all its marks, Greek and Cyrillic. */
interface Face {
  /** How far a letter moves the pen, in parts of the size of the letters; undefined: the font has no such letter. */
  advanceOf(letter: string): number | undefined;
}

type Faces = Record<Weight, Face>;

const { resolve } = createRequire(import.meta.url);
await initWasm(readFile(resolve('@resvg/resvg-wasm/index_bg.wasm')));

/** The files with all letters of both weights; no other font is used. */
export const fontBuffers: Uint8Array[] = await Promise.all(
  ['400Regular/Inter_400Regular', '700Bold/Inter_700Bold'].map((name) =>
    readFile(resolve(`@expo-google-fonts/inter/${name}.ttf`)),
  ),
);

export function openFaces(): Faces {
  return { 400: openFace(400), 700: openFace(700) };
}

/** No font has it: in its place stands the sign for what a font lacks. */
const NO_LETTER = '\u{10ffff}';
const SIZE = 1_000;

/** A letter is measured once, by the program that draws it: by how far it keeps two others apart. */
function openFace(weight: Weight): Face {
  const together = rightOf(draw('HH', weight));
  const advanceOf = (letter: string): number => (rightOf(draw(`H${letter}H`, weight)) - together) / SIZE;
  const missing = String(draw(NO_LETTER, weight));
  const known = new Map([[' ', advanceOf(' ')]]);
  return {
    advanceOf: (letter) => {
      if (known.has(letter)) return known.get(letter);
      const drawn = draw(letter, weight);
      if (drawn === null || String(drawn) === missing) return undefined;
      const advance = advanceOf(letter);
      known.set(letter, advance);
      return advance;
    },
  };
}

/** What it covers: x, y, width and height. */
type Box = [number, number, number, number];

const rightOf = (box: Box | null): number => (box === null ? 0 : box[0] + box[2]);

/** Null: nothing can be seen of it. */
function draw(text: string, weight: Weight): Box | null {
  const line = html`<text font-family="${FAMILY}" font-weight="${weight}" font-size="${SIZE}">${text}</text>`;
  const drawing = new Resvg(`<svg xmlns="http://www.w3.org/2000/svg">${line}</svg>`, { font: { fontBuffers } });
  const box = drawing.getBBox();
  const covered: Box | null = box === undefined ? null : [box.x, box.y, box.width, box.height];
  box?.free();
  drawing.free();
  return covered;
}

const ELLIPSIS = '…';
/** Less of it than this would say something else. */
const ENOUGH = 0.5;

/** What of a text can be drawn, in one line; null where so much is missing that the rest would mislead. */
export function drawable(text: string, face: Face): string | null {
  const given = [...cutPiles(text).normalize('NFC')];
  const counted = given.filter((letter) => !isSpace(letter) && !isUnseen(letter));
  const kept = given.map((letter) => (isSpace(letter) ? ' ' : has(face, letter) ? letter : ''));
  const left = kept.filter((letter) => letter !== '' && letter !== ' ').length;
  if (left === 0 || left < ENOUGH * counted.length) return null;
  return kept.join('').replaceAll(/ +/g, ' ').trim();
}

function isSpace(letter: string): boolean {
  return /^\s$/u.test(letter);
}

/** The sign for what cannot be shown is in the font, and says nothing. */
function isUnseen(letter: string): boolean {
  return letter === '\u{fffd}' || /\p{C}/u.test(letter);
}

function has({ advanceOf }: Face, letter: string): boolean {
  return !isUnseen(letter) && advanceOf(letter) !== undefined;
}

export function widthOf(text: string, size: number, { advanceOf }: Face): number {
  let width = 0;
  for (const letter of text) width += advanceOf(letter) ?? 0;
  return width * size;
}

interface Fitted {
  size: number;
  lines: string[];
}

/** In the first of these sizes in which it takes no more lines than there is room for; cut in the last, if need be. */
export function fitText(
  text: string,
  { width, rooms }: { width: number; rooms: readonly { size: number; lines: number }[] },
  face: Face,
): Fitted {
  let fitted: Fitted = { size: 0, lines: [] };
  for (const { size, lines: most } of rooms) {
    const lines = breakLines(text, size, width, face);
    if (lines.length <= most) return { size, lines };
    const rest = lines.slice(most - 1, most + 1).join(' ');
    fitted = { size, lines: [...lines.slice(0, most - 1), shorten(rest, size, width, face)] };
  }
  return fitted;
}

/** Cut with an ellipsis until it fits. */
export function shorten(text: string, size: number, width: number, face: Face, isCut = true): string {
  if (!isCut && widthOf(text, size, face) <= width) return text;
  const kept = [...text];
  while (kept.length > 0 && widthOf(`${kept.join('').trimEnd()}${ELLIPSIS}`, size, face) > width) kept.pop();
  return `${kept.join('').trimEnd()}${ELLIPSIS}`;
}

/** At spaces; a word that is wider than a line is broken where it must be. */
function breakLines(text: string, size: number, width: number, face: Face): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((one) => piecesOf(one, size, width, face))) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (widthOf(longer, size, face) <= width) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

function piecesOf(word: string, size: number, width: number, face: Face): string[] {
  if (widthOf(word, size, face) <= width) return [word];
  const pieces: string[] = [];
  let piece = '';
  for (const letter of word) {
    if (piece !== '' && widthOf(piece + letter, size, face) > width) {
      pieces.push(piece);
      piece = '';
    }
    piece += letter;
  }
  return [...pieces, piece];
}

const MARK_LEFT = 772;
const LEFT = 64;
const ROOM = MARK_LEFT - LEFT - 52;
const TITLE_TOP = 148;
const TITLE_ROOMS = [
  { size: 68, lines: 3 },
  { size: 58, lines: 3 },
  { size: 50, lines: 4 },
] as const;
const TITLE_LEADING = 1.16;
const TEXT = { size: 30, leading: 42, lines: 2 } as const;
const PRICE = { size: 46, baseline: 512 } as const;
const FOOT = { size: 28, baseline: 566 } as const;
const NAME = { size: 30, baseline: 96 } as const;

const PAPER = hexOfOklch(0.985, 0.004, 110);
const INK = hexOfOklch(0.23, 0.015, 160);
const MUTED = hexOfOklch(0.46, 0.016, 160);
const ACCENT = hexOfOklch(0.42, 0.09, 157);

/** The picture by which a link shows a page before it is opened. */
export function composeCard(card: CardQuestion, faces: Faces): string {
  const { colours, price } = card;
  const title = drawable(card.title, faces[700]) ?? card.otherwise;
  const fitted = fitText(title, { width: ROOM, rooms: TITLE_ROOMS }, faces[700]);
  const titleEnd = TITLE_TOP + fitted.lines.length * fitted.size * TITLE_LEADING;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${CARD.width}" height="${CARD.height}">
<style>.mark path { fill: none; stroke-width: 1.72; } .w { stroke: ${colours.w}; } .a { stroke: ${colours.a}; } .b { stroke: ${colours.b}; }</style>
<rect width="100%" height="100%" fill="${PAPER}"/>
<rect x="${MARK_LEFT}" width="${CARD.width - MARK_LEFT}" height="100%" fill="${colours.ground}"/>
!${placeMark(card.mark)}
!${drawLine('Openaisle', { baseline: NAME.baseline, size: NAME.size, weight: 700, fill: ACCENT })}
!${fitted.lines.map((text, at) => drawLine(text, { baseline: TITLE_TOP + (at + 0.84) * fitted.size * TITLE_LEADING, size: fitted.size, weight: 700, fill: INK }))}
!${composeText(card.text, faces[400]).map((text, at) => drawLine(text, { baseline: titleEnd + 24 + (at + 0.7) * TEXT.leading, size: TEXT.size, weight: 400, fill: MUTED }))}
!${price === '' ? '' : drawLine(price, { ...PRICE, weight: 700, fill: INK })}
!${drawLine(composeFoot(card.from, faces[400]), { ...FOOT, weight: 400, fill: MUTED })}
</svg>`;
}

/** Over the whole height; what sticks out above and below the square is woven on, and sideways it is cut. */
function placeMark(mark: string): string {
  return mark.replace(
    '<svg ',
    `<svg x="${MARK_LEFT}" y="0" width="${CARD.width - MARK_LEFT}" height="${CARD.height}" preserveAspectRatio="xMidYMid slice" `,
  );
}

function composeText(text: string, face: Face): string[] {
  const shown = text === '' ? null : drawable(text, face);
  return shown === null ? [] : fitText(shown, { width: ROOM, rooms: [TEXT] }, face).lines;
}

/** The name gives way; what stands behind it is ours, and short. */
function composeFoot({ merchant, rest }: CardQuestion['from'], face: Face): string {
  const name = merchant === '' ? null : drawable(merchant, face);
  if (name === null) return rest;
  const behind = ` · ${rest}`;
  const room = ROOM - widthOf(`by ${behind}`, FOOT.size, face);
  return `by ${shorten(name, FOOT.size, room, face, false)}${behind}`;
}

interface LineStyle {
  baseline: number;
  size: number;
  weight: Weight;
  fill: string;
}

function drawLine(text: string, { baseline, size, weight, fill }: LineStyle): string {
  return html`<text x="${LEFT}" y="${Math.round(baseline)}" font-family="${FAMILY}" font-weight="${weight}" font-size="${size}" fill="${fill}">${text}</text>
`;
}
