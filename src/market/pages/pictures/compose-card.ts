import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import inter from '@expo-google-fonts/inter/metadata.json' with { type: 'json' };
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { html } from 'ghtml';
import { limitCombiningMarks } from '../../../contract/text.ts';
import { CARD, type CardQuestion, hexOfOklch } from './picture-question.ts';

const FAMILY = inter.family;
type Weight = 400 | 700;

/** Measures letters in one font weight: Latin with diacritics, Greek and Cyrillic. */
interface Face {
  /** Returns the letter's advance width relative to the font size. Undefined if the font lacks the letter. */
  advanceOf(letter: string): number | undefined;
}

type Faces = Record<Weight, Face>;

const { resolve } = createRequire(import.meta.url);
await initWasm(readFile(resolve('@resvg/resvg-wasm/index_bg.wasm')));

/** Font files of both weights. No other font is used. */
export const fontBuffers: Uint8Array[] = await Promise.all(
  ['400Regular/Inter_400Regular', '700Bold/Inter_700Bold'].map((name) =>
    readFile(resolve(`@expo-google-fonts/inter/${name}.ttf`)),
  ),
);

export function openFaces(): Faces {
  return { 400: openFace(400), 700: openFace(700) };
}

/** No font has this character, so it is drawn as the missing-glyph sign. */
const MISSING_GLYPH = '\u{10ffff}';
const SIZE = 1_000;

/** Measures each letter once, by how much farther apart the renderer draws two H with the letter between them. */
function openFace(weight: Weight): Face {
  const pairWidth = rightEdge(measureDrawn('HH', weight));
  const advanceOf = (letter: string): number => (rightEdge(measureDrawn(`H${letter}H`, weight)) - pairWidth) / SIZE;
  const missing = String(measureDrawn(MISSING_GLYPH, weight));
  const advances = new Map([[' ', advanceOf(' ')]]);
  return {
    advanceOf: (letter) => {
      if (advances.has(letter)) return advances.get(letter);
      const drawn = measureDrawn(letter, weight);
      if (drawn === null || String(drawn) === missing) return undefined;
      const advance = advanceOf(letter);
      advances.set(letter, advance);
      return advance;
    },
  };
}

/** Bounding box of a drawing: x, y, width and height. */
type Box = [number, number, number, number];

const rightEdge = (box: Box | null): number => (box === null ? 0 : box[0] + box[2]);

/** Returns null if the text draws nothing visible. */
function measureDrawn(text: string, weight: Weight): Box | null {
  const line = html`<text font-family="${FAMILY}" font-weight="${weight}" font-size="${SIZE}">${text}</text>`;
  const drawing = new Resvg(`<svg xmlns="http://www.w3.org/2000/svg">${line}</svg>`, { font: { fontBuffers } });
  const box = drawing.getBBox();
  const bounds: Box | null = box === undefined ? null : [box.x, box.y, box.width, box.height];
  box?.free();
  drawing.free();
  return bounds;
}

const ELLIPSIS = '…';
/** Least share of a text's letters that must be drawable. With fewer, the text would say something else. */
const MIN_DRAWABLE_SHARE = 0.5;

/** Keeps the letters that the font can draw, in one line. Null if too many are missing. */
export function drawableText(text: string, face: Face): string | null {
  const letters = [...limitCombiningMarks(text).normalize('NFC')];
  const visibleLetters = letters.filter((letter) => !isSpace(letter) && !isUnseen(letter));
  const drawable = letters.map((letter) => (isSpace(letter) ? ' ' : hasLetter(face, letter) ? letter : ''));
  const drawableCount = drawable.filter((letter) => letter !== '' && letter !== ' ').length;
  if (drawableCount === 0 || drawableCount < MIN_DRAWABLE_SHARE * visibleLetters.length) return null;
  return drawable.join('').replaceAll(/ +/g, ' ').trim();
}

function isSpace(letter: string): boolean {
  return /^\s$/u.test(letter);
}

/** The font has the replacement character U+FFFD, but it carries no meaning. */
function isUnseen(letter: string): boolean {
  return letter === '\u{fffd}' || /\p{C}/u.test(letter);
}

function hasLetter({ advanceOf }: Face, letter: string): boolean {
  return !isUnseen(letter) && advanceOf(letter) !== undefined;
}

export function widthOf(text: string, size: number, { advanceOf }: Face): number {
  let width = 0;
  for (const letter of text) width += advanceOf(letter) ?? 0;
  return width * size;
}

interface Room {
  size: number;
  width: number;
  face: Face;
}

interface Fitted {
  size: number;
  lines: string[];
}

/** Uses the first size in which the text fits. If none does, shortens the text in the last size. */
export function fitText(
  text: string,
  { width, rooms }: { width: number; rooms: readonly { size: number; lines: number }[] },
  face: Face,
): Fitted {
  let fitted: Fitted = { size: 0, lines: [] };
  for (const { size, lines: most } of rooms) {
    const lines = breakLines(text, { size, width, face });
    if (lines.length <= most) return { size, lines };
    const rest = lines.slice(most - 1, most + 1).join(' ');
    fitted = { size, lines: [...lines.slice(0, most - 1), shortenText(rest, { size, width, face })] };
  }
  return fitted;
}

/** Shortens the text until it fits with an ellipsis. `isCut` adds the ellipsis in any case, because the text is already cut. */
export function shortenText(text: string, { size, width, face }: Room, isCut = true): string {
  if (!isCut && widthOf(text, size, face) <= width) return text;
  const letters = [...text];
  while (letters.length > 0 && widthOf(`${letters.join('').trimEnd()}${ELLIPSIS}`, size, face) > width) letters.pop();
  return `${letters.join('').trimEnd()}${ELLIPSIS}`;
}

/** Breaks at spaces, and within a word only if it is wider than a line. */
function breakLines(text: string, { size, width, face }: Room): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ').flatMap((one) => piecesOf(one, { size, width, face }))) {
    const candidate = line === '' ? word : `${line} ${word}`;
    if (widthOf(candidate, size, face) <= width) line = candidate;
    else {
      if (line !== '') lines.push(line);
      line = word;
    }
  }
  return line === '' ? lines : [...lines, line];
}

function piecesOf(word: string, { size, width, face }: Room): string[] {
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
const TEXT_WIDTH = MARK_LEFT - LEFT - 52;
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
const BRAND = { size: 30, baseline: 96 } as const;

const PAPER = hexOfOklch(0.985, 0.004, 110);
const INK = hexOfOklch(0.23, 0.015, 160);
const MUTED = hexOfOklch(0.46, 0.016, 160);
const ACCENT = hexOfOklch(0.42, 0.09, 157);

/** Draws the preview picture for links to a page. */
export function composeCard(card: CardQuestion, faces: Faces): string {
  const { colours, price } = card;
  const title = drawableText(card.title, faces[700]) ?? card.otherwise;
  const fitted = fitText(title, { width: TEXT_WIDTH, rooms: TITLE_ROOMS }, faces[700]);
  const titleEnd = TITLE_TOP + fitted.lines.length * fitted.size * TITLE_LEADING;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${CARD.width}" height="${CARD.height}">
<style>.mark path { fill: none; stroke-width: 1.72; } .w { stroke: ${colours.w}; } .a { stroke: ${colours.a}; } .b { stroke: ${colours.b}; }</style>
<rect width="100%" height="100%" fill="${PAPER}"/>
<rect x="${MARK_LEFT}" width="${CARD.width - MARK_LEFT}" height="100%" fill="${colours.ground}"/>
!${placeMark(card.mark)}
!${drawLine('Openaisle', { baseline: BRAND.baseline, size: BRAND.size, weight: 700, fill: ACCENT })}
!${fitted.lines.map((text, at) => drawLine(text, { baseline: TITLE_TOP + (at + 0.84) * fitted.size * TITLE_LEADING, size: fitted.size, weight: 700, fill: INK }))}
!${composeText(card.text, faces[400]).map((text, at) => drawLine(text, { baseline: titleEnd + 24 + (at + 0.7) * TEXT.leading, size: TEXT.size, weight: 400, fill: MUTED }))}
!${price === '' ? '' : drawLine(price, { ...PRICE, weight: 700, fill: INK })}
!${drawLine(composeFoot(card.from, faces[400]), { ...FOOT, weight: 400, fill: MUTED })}
</svg>`;
}

/** Scales the square mark to the card's height and cuts off its sides. */
function placeMark(mark: string): string {
  return mark.replace(
    '<svg ',
    `<svg x="${MARK_LEFT}" y="0" width="${CARD.width - MARK_LEFT}" height="${CARD.height}" preserveAspectRatio="xMidYMid slice" `,
  );
}

function composeText(text: string, face: Face): string[] {
  const shown = text === '' ? null : drawableText(text, face);
  return shown === null ? [] : fitText(shown, { width: TEXT_WIDTH, rooms: [TEXT] }, face).lines;
}

/** Shortens only the name, because `rest` is our own short text. */
function composeFoot({ merchant, rest }: CardQuestion['from'], face: Face): string {
  const name = merchant === '' ? null : drawableText(merchant, face);
  if (name === null) return rest;
  const behind = ` · ${rest}`;
  const room = TEXT_WIDTH - widthOf(`by ${behind}`, FOOT.size, face);
  return `by ${shortenText(name, { size: FOOT.size, width: room, face }, false)}${behind}`;
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
