import { html } from 'ghtml';
import { showCount } from '../storefront/show-facts.ts';
import { nameSpan, nameSpanFully } from './name-span.ts';
import { showUnits } from './show-money.ts';
import type { Bar, Span } from './spread-over-time.ts';

/** Pixels; sideways everything is in parts of the width, so that letters keep their size. */
const TOP = 24;
const TALLEST = 136;
const BASE = TOP + TALLEST;
const HEIGHT = BASE + 28;
/** Of the room of a bar. */
const THICKNESS = 0.72;
/** What is there can be seen, however small. */
const SHORTEST = 2;
/** Beyond this part of the width a label in the middle would stick out. */
const EDGE = 0.25;

/** Bars from a baseline of zero; the tallest says how much it is. */
export function drawTimeBars(id: string, span: Span, bars: readonly Bar[]): string {
  const most = bars.reduce((found, { units }) => (units > found ? units : found), 0n);
  const step = 100 / bars.length;
  const tallest = most === 0n ? -1 : bars.findLastIndex(({ units }) => units === most);
  return html`<svg class="chart" role="img" aria-labelledby="${id}-name ${id}-says" width="100%" height="${HEIGHT}">
<title id="${id}-name">Fees paid, by ${span}</title>
<desc id="${id}-says">${describe(span, bars, tallest)}</desc>
!${bars.map((bar, at) => drawBar(span, bar, { at, step, most }))}
<line class="base" x1="0" x2="100%" y1="${BASE}" y2="${BASE}"/>
!${tallest < 0 ? '' : drawTallest(span, bars, tallest)}
<text class="axis" x="0" y="${HEIGHT - 8}">${nameSpan(span, bars[0]?.from ?? '')}</text>
<text class="axis end" x="100%" y="${HEIGHT - 8}">${nameSpan(span, bars.at(-1)?.from ?? '')}</text>
</svg>`;
}

function drawBar(
  span: Span,
  { from, fees, units }: Bar,
  { at, step, most }: { at: number; step: number; most: bigint },
): string {
  if (units === 0n) return '';
  const height = Math.max(SHORTEST, part(units, most) * TALLEST);
  const left = step * (at + (1 - THICKNESS) / 2);
  return html`<rect class="bar" x="${percent(left)}" width="${percent(step * THICKNESS)}" y="${round(BASE - height)}" height="${round(height)}"><title>${nameSpanFully(span, from)}: ${showCount(Number(fees), 'fee')}, ${showUnits(units)}</title></rect>
`;
}

function drawTallest(span: Span, bars: readonly Bar[], at: number): string {
  const { from, units } = bars[at] ?? { from: '', units: 0n };
  const middle = (at + 0.5) / bars.length;
  const left = middle < EDGE;
  const right = middle > 1 - EDGE;
  const x = left ? at / bars.length : right ? (at + 1) / bars.length : middle;
  const side = left ? '' : right ? ' end' : ' middle';
  return html`<text class="direct${side}" x="${percent(100 * x)}" y="${TOP - 8}">${nameSpanFully(span, from)}: ${showUnits(units)}</text>`;
}

function describe(span: Span, bars: readonly Bar[], tallest: number): string {
  const [first, last] = [bars[0], bars.at(-1)];
  const most = bars[tallest];
  if (first === undefined || last === undefined || most === undefined) return 'No fee was paid in this time.';
  return `From ${nameSpan(span, first.from)} to ${nameSpan(span, last.from)}. Most in ${nameSpanFully(span, most.from)}: ${showUnits(most.units)}. The table below has each ${span}.`;
}

/** How much of the whole, exact enough for a picture. */
export function part(units: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((units * 100_000n) / whole) / 100_000;
}

export function percent(value: number): string {
  return `${round(value)}%`;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
