import type { Aisle } from '../../../contract/vocabulary.ts';
import { type Cloth, SHAFTS, weave } from './weave.ts';

/** Whose mark it is. A listing has the hue of its aisle, a merchant one of its own. */
export type Marked = { listing: number; aisle: Aisle } | { merchant: number };

/** Threads of the small form, out of the middle of the cloth: three pixels each at 24, five at 40. */
const SMALL_THREADS = 8;
const MERCHANT_HUES = 12;

/** Where each thread can begin, and how long it can be, as text: a page draws hundreds, and numbers are slow to write. */
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
function drawSmall({ threading, treadling, ...cloth }: Cloth, hue: string): string {
  const from = (cloth.size - SMALL_THREADS) / 2;
  const to = from + SMALL_THREADS;
  const middle: Cloth = {
    ...cloth,
    threading: threading.slice(from, to),
    treadling: treadling.slice(from, to),
    isSecondTone: (column) => cloth.isSecondTone(from + column),
  };
  return svg(`mark small ${hue}`, SMALL_THREADS, warpPaths(middle));
}

/** Both, with gaps between the threads. */
function drawLarge(cloth: Cloth, hue: string): string {
  return svg(`mark large ${hue}`, cloth.size, weftPaths(cloth) + warpPaths(cloth));
}

/** Rows of the same treadle look alike, so each treadle is one path. */
function weftPaths({ threading, treadling, isLifted }: Cloth): string {
  let paths = '';
  for (let treadle = 0; treadle < SHAFTS; treadle += 1) {
    const { first, dashes } = dashesOf(threading, (shaft) => !isLifted(treadle, shaft));
    let lines = '';
    for (let row = 0; row < treadling.length; row += 1) {
      if (treadling[row] === treadle) lines += lineFrom(ACROSS, row, first, treadling.length);
    }
    paths += path('w', dashes, lines);
  }
  return paths;
}

/** Threads on the same shaft look alike but for their colour. */
function warpPaths({ threading, treadling, isLifted, isSecondTone }: Cloth): string {
  let paths = '';
  for (let shaft = 0; shaft < SHAFTS; shaft += 1) {
    const { first, dashes } = dashesOf(treadling, (treadle) => isLifted(treadle, shaft));
    let [one, other] = ['', ''];
    for (let column = 0; column < threading.length; column += 1) {
      if (threading[column] !== shaft) continue;
      const line = lineFrom(DOWN, column, first, threading.length);
      if (isSecondTone(column)) other += line;
      else one += line;
    }
    paths += path('a', dashes, one) + path('b', dashes, other);
  }
  return paths;
}

/** Where a thread lies on top along others: from which on, and lengths on top and below in turn; none where it never does. */
function dashesOf(across: readonly number[], isOnTop: (one: number) => boolean): { first: number; dashes: string } {
  let first = 0;
  while (first < across.length && !isOnTop(across[first] ?? 0)) first += 1;
  let dashes = '';
  let [from, wasOnTop] = [first, true];
  for (let at = first + 1; at <= across.length; at += 1) {
    if (at < across.length && isOnTop(across[at] ?? 0) === wasOnTop) continue;
    dashes += dashes === '' ? LENGTHS[at - from] : ` ${LENGTHS[at - from]}`;
    [from, wasOnTop] = [at, !wasOnTop];
  }
  return { first, dashes };
}

function lineFrom(begins: readonly string[], line: number, first: number, threads: number): string {
  return `${begins[line * MOST_THREADS + first]}${LENGTHS[threads - first]}`;
}

/** Dashes start again with each line of a path (SVG 2, 13.5.6). Of numbers and letters of our own: nothing to escape. */
function path(name: string, dashes: string, lines: string): string {
  return dashes === '' || lines === '' ? '' : `<path class="${name}" stroke-dasharray="${dashes}" d="${lines}"/>`;
}

function svg(names: string, threads: number, paths: string): string {
  return `<svg class="${names}" viewBox="0 0 ${2 * threads} ${2 * threads}" aria-hidden="true">${paths}</svg>`;
}
