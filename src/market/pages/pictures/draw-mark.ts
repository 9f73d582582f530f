import { hash } from 'node:crypto';
import type { Aisle } from '../../../contract/vocabulary.ts';

/** A weaving draft for a loom with four shafts: which thread goes through which shaft, and what each row lifts. */
interface Cloth {
  /** Number of threads in each direction. */
  size: number;
  /** Seed for choices other than the weave, such as the hue. */
  seed: number;
  /** Shaft of each warp thread. Threads on the same shaft look alike. */
  threading: readonly number[];
  /** Treadle of each row. Rows with the same treadle look alike. */
  treadling: readonly number[];
  isLifted(treadle: number, shaft: number): boolean;
  isSecondTone(column: number): boolean;
}

const SHAFTS = 4;
/** Threads in half of the cloth; the other half mirrors it. */
const HALF = 12;

/** Bit masks that lift two of the four shafts each, so that the cloth holds together. */
const LIFTS: readonly number[] = [0b0011, 0b0110, 0b1100, 0b1001, 0b0101, 0b1010];

/** Derives a woven pattern from a name. Deterministic; collisions are very unlikely. */
export function weaveCloth(name: string): Cloth {
  const bytes = hash('sha256', `mark ${name}`, 'buffer');
  const byte = (at: number): number => bytes[at] ?? 0;
  const lifts = pickLifts([byte(24), byte(25), byte(26), byte(27)]);
  const stripe = 1 + (byte(28) % 4);
  const offset = byte(29) % (2 * stripe);
  return {
    size: 2 * HALF,
    seed: byte(30) * 256 + byte(31),
    threading: shaftSteps(bytes, 0),
    treadling: shaftSteps(bytes, HALF),
    isLifted: (treadle, shaft) => (((lifts[treadle] ?? 0) >> shaft) & 1) === 1,
    isSecondTone: (column) => {
      const fromEdge = column < HALF ? column : 2 * HALF - 1 - column;
      return Math.floor((fromEdge + offset) / stripe) % 2 === 1;
    },
  };
}

/** Steps from shaft to shaft, which draws diagonals, and sometimes turns back. The second half mirrors the first. */
function shaftSteps(bytes: Uint8Array, from: number): number[] {
  const steps = new Array<number>(2 * HALF);
  let shaft = (bytes[from] ?? 0) % SHAFTS;
  let direction = 1;
  for (let at = 0; at < HALF; at += 1) {
    steps[at] = shaft;
    steps[2 * HALF - 1 - at] = shaft;
    if ((bytes[from + at] ?? 0) % 5 === 0) direction = -direction;
    shaft = (shaft + direction + SHAFTS) % SHAFTS;
  }
  return steps;
}

/** Picks four different lifts in some order, so that no two rows are the same, no two shafts move together, and no thread hangs loose. */
function pickLifts(bytes: readonly number[]): readonly number[] {
  const left = [...LIFTS];
  return bytes.map((byte) => left.splice(byte % left.length, 1)[0] ?? 0);
}

/** Owner of a mark. A listing has the hue of its aisle, a merchant a hue of its own. */
export type Marked = { listing: number; aisle: Aisle } | { merchant: number };

/** Threads of a small mark, taken from the middle of the cloth: three pixels each at size 24, five at 40. */
const SMALL_THREADS = 8;
const MERCHANT_HUES = 12;

/**
 * Most threads of a mark in each direction. The path texts below are prepared for each start and length of a thread, because a page draws
 * hundreds of marks and formatting numbers is slow.
 */
const MAX_THREADS = 24;
const startTexts = (write: (line: number, at: number) => string): string[] =>
  Array.from({ length: MAX_THREADS ** 2 }, (_, index) => write(Math.floor(index / MAX_THREADS), index % MAX_THREADS));
const WEFT_STARTS = startTexts((row, at) => `M${2 * at} ${2 * row + 1}h`);
const WARP_STARTS = startTexts((column, at) => `M${2 * column + 1} ${2 * at}v`);
const LENGTHS = Array.from({ length: MAX_THREADS + 1 }, (_, length) => String(2 * length));

/** Draws the mark of a listing or merchant, always the same. It is decoration, so screen readers skip it. */
export function drawMark(marked: Marked, size: 'small' | 'large'): string {
  const name = 'listing' in marked ? `listing ${marked.listing}` : `merchant ${marked.merchant}`;
  const cloth = weaveCloth(name);
  const hue = 'listing' in marked ? marked.aisle : `hue-${cloth.seed % MERCHANT_HUES}`;
  if (size === 'small') return drawSmall(cloth, hue);
  return svgElement(`mark large ${hue}`, cloth.size, weftPaths(cloth) + warpPaths(cloth));
}

/** Draws only the warp; the background stands for the weft. */
function drawSmall({ threading, treadling, ...cloth }: Cloth, hue: string): string {
  const from = (cloth.size - SMALL_THREADS) / 2;
  const to = from + SMALL_THREADS;
  const middle: Cloth = {
    ...cloth,
    threading: threading.slice(from, to),
    treadling: treadling.slice(from, to),
    isSecondTone: (column) => cloth.isSecondTone(from + column),
  };
  return svgElement(`mark small ${hue}`, SMALL_THREADS, warpPaths(middle));
}

/** Draws one path per treadle, because rows with the same treadle look alike. */
function weftPaths({ threading, treadling, isLifted }: Cloth): string {
  let paths = '';
  for (let treadle = 0; treadle < SHAFTS; treadle += 1) {
    const { first, dashes } = dashesOf(threading, (shaft) => !isLifted(treadle, shaft));
    let lines = '';
    for (let row = 0; row < treadling.length; row += 1) {
      if (treadling[row] === treadle) lines += lineFrom(WEFT_STARTS, row, first, treadling.length);
    }
    paths += pathElement('w', dashes, lines);
  }
  return paths;
}

/** Draws one path per shaft and colour, because threads on the same shaft differ only in colour. */
function warpPaths({ threading, treadling, isLifted, isSecondTone }: Cloth): string {
  let paths = '';
  for (let shaft = 0; shaft < SHAFTS; shaft += 1) {
    const { first, dashes } = dashesOf(treadling, (treadle) => isLifted(treadle, shaft));
    let [firstTone, secondTone] = ['', ''];
    for (let column = 0; column < threading.length; column += 1) {
      if (threading[column] !== shaft) continue;
      const line = lineFrom(WARP_STARTS, column, first, threading.length);
      if (isSecondTone(column)) secondTone += line;
      else firstTone += line;
    }
    paths += pathElement('a', dashes, firstTone) + pathElement('b', dashes, secondTone);
  }
  return paths;
}

/** Returns the first position where a thread lies on top, and its alternating lengths on top and below. No dashes if it never does. */
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
  return `${begins[line * MAX_THREADS + first]}${LENGTHS[threads - first]}`;
}

/** Dashes restart with each line of a path (SVG 2, 13.5.6). All values are our own numbers and letters, so nothing needs escaping. */
function pathElement(name: string, dashes: string, lines: string): string {
  return dashes === '' || lines === '' ? '' : `<path class="${name}" stroke-dasharray="${dashes}" d="${lines}"/>`;
}

function svgElement(names: string, threads: number, paths: string): string {
  return `<svg class="${names}" viewBox="0 0 ${2 * threads} ${2 * threads}" aria-hidden="true">${paths}</svg>`;
}
