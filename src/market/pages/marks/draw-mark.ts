import type { Aisle } from '../../../contract/vocabulary.ts';
import { type Cloth, weave } from './weave.ts';

/** Whose mark it is. A listing has the hue of its aisle, a merchant one of its own. */
export type Marked = { listing: number; aisle: Aisle } | { merchant: number };

/** Threads of the small form, out of the middle of the cloth: three pixels each at 24, five at 40. */
const SMALL_THREADS = 8;
const MERCHANT_HUES = 12;

/** Where each stretch can begin, and how long it can be, as text: a page draws a hundred and fifty, and numbers are slow to write. */
const MOST_THREADS = 24;
const places = (write: (line: number, at: number) => string): string[] =>
  Array.from({ length: MOST_THREADS ** 2 }, (_, place) =>
    write(Math.floor(place / MOST_THREADS), place % MOST_THREADS),
  );
const ACROSS = places((row, at) => `M${2 * at} ${2 * row + 1}h`);
const DOWN = places((column, at) => `M${2 * column + 1} ${2 * at}v`);
const LENGTHS = Array.from({ length: MOST_THREADS + 1 }, (_, length) => String(2 * length));

/** A picture for one thing, the same each time; decoration, so nothing is read out for it. */
export function drawMark(marked: Marked, size: 'small' | 'large'): string {
  const name = 'listing' in marked ? `listing ${marked.listing}` : `merchant ${marked.merchant}`;
  const cloth = weave(name);
  const hue = 'listing' in marked ? marked.aisle : `hue-${cloth.seed % MERCHANT_HUES}`;
  return size === 'small' ? drawSmall(cloth, hue) : drawLarge(cloth, hue);
}

/** The warp alone, on a ground that stands for the weft. */
function drawSmall(cloth: Cloth, hue: string): string {
  const from = (cloth.size - SMALL_THREADS) / 2;
  const to = from + SMALL_THREADS;
  return svg(`mark small ${hue}`, SMALL_THREADS, warpPaths(cloth, from, to));
}

/** Both, with gaps between the threads. */
function drawLarge(cloth: Cloth, hue: string): string {
  let weft = '';
  eachRun(
    cloth.size,
    (row, column) => !cloth.isWarpUp(column, row),
    (row, at, length) => {
      weft += `${ACROSS[row * MOST_THREADS + at]}${LENGTHS[length]}`;
    },
  );
  return svg(`mark large ${hue}`, cloth.size, `${path('w', weft)}${warpPaths(cloth, 0, cloth.size)}`);
}

function warpPaths(cloth: Cloth, from: number, to: number): string {
  let [first, second] = ['', ''];
  eachRun(
    to - from,
    (column, row) => cloth.isWarpUp(from + column, from + row),
    (column, at, length) => {
      const line = `${DOWN[column * MOST_THREADS + at]}${LENGTHS[length]}`;
      if (cloth.isSecondTone(from + column)) second += line;
      else first += line;
    },
  );
  return path('a', first) + path('b', second);
}

/** Where a thread lies on top, as stretches that are as long as they get. */
function eachRun(
  size: number,
  isOnTop: (line: number, at: number) => boolean,
  take: (line: number, at: number, length: number) => void,
): void {
  for (let line = 0; line < size; line += 1) {
    let from = -1;
    for (let at = 0; at <= size; at += 1) {
      const isOn = at < size && isOnTop(line, at);
      if (isOn && from < 0) from = at;
      if (isOn || from < 0) continue;
      take(line, from, at - from);
      from = -1;
    }
  }
}

/** Of numbers and letters of our own: nothing to escape. */
function path(name: string, d: string): string {
  return d === '' ? '' : `<path class="${name}" d="${d}"/>`;
}

function svg(names: string, threads: number, paths: string): string {
  return `<svg class="${names}" viewBox="0 0 ${2 * threads} ${2 * threads}" aria-hidden="true">${paths}</svg>`;
}
