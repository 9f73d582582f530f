import { html } from 'ghtml';
import type { Aisle } from '../../../contract/vocabulary.ts';
import { type Cloth, weave } from './weave.ts';

/** Whose mark it is. A listing has the hue of its aisle, a merchant one of its own. */
export type Marked = { listing: number; aisle: Aisle } | { merchant: number };

/** Threads of the small form, out of the middle of the cloth: three pixels each at 24, five at 40. */
const SMALL_THREADS = 8;
const MERCHANT_HUES = 12;

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
  const weft = runs(cloth.size, (row, column) => !cloth.isWarpUp(column, row))
    .map(({ line, at, length }) => `M${2 * at} ${2 * line + 1}h${2 * length}`)
    .join('');
  return svg(`mark large ${hue}`, cloth.size, `${path('w', weft)}${warpPaths(cloth, 0, cloth.size)}`);
}

function warpPaths(cloth: Cloth, from: number, to: number): string {
  const found = runs(to - from, (column, row) => cloth.isWarpUp(from + column, from + row));
  const strand = (isSecond: boolean): string =>
    found
      .filter(({ line }) => cloth.isSecondTone(from + line) === isSecond)
      .map(({ line, at, length }) => `M${2 * line + 1} ${2 * at}v${2 * length}`)
      .join('');
  return path('a', strand(false)) + path('b', strand(true));
}

interface Run {
  line: number;
  at: number;
  length: number;
}

/** Where a thread lies on top, as stretches that are as long as they get. */
function runs(size: number, isOnTop: (line: number, at: number) => boolean): Run[] {
  const found: Run[] = [];
  for (let line = 0; line < size; line += 1) {
    let last: Run | null = null;
    for (let at = 0; at < size; at += 1) {
      if (!isOnTop(line, at)) last = null;
      else if (last !== null) last.length += 1;
      else {
        last = { line, at, length: 1 };
        found.push(last);
      }
    }
  }
  return found;
}

function path(name: string, d: string): string {
  return d === '' ? '' : html`<path class="${name}" d="${d}"/>`;
}

function svg(names: string, threads: number, paths: string): string {
  return html`<svg class="${names}" viewBox="0 0 ${2 * threads} ${2 * threads}" aria-hidden="true">!${paths}</svg>`;
}
