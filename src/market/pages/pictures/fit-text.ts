import type { Face } from './picture-fonts.ts';

const ELLIPSIS = '…';
/** Less of it than this would say something else. */
const ENOUGH = 0.5;

/** What of a text can be drawn, in one line; null where so much is missing that the rest would mislead. */
export function drawable(text: string, face: Face): string | null {
  const given = [...text.normalize('NFC')];
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

export interface Fitted {
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
