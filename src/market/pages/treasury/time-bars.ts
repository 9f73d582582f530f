import { html } from 'ghtml';
import { usdcOfUnits } from '../../../contract/money.ts';
import { showCount, showPrice } from '../storefront/render-text.ts';
import type { FeesOfDay } from './store.ts';

/** Heights in pixels. Horizontal positions are fractions of the width instead, so that letters keep their size. */
const TOP = 24;
const MAX_BAR_HEIGHT = 136;
const BASE = TOP + MAX_BAR_HEIGHT;
const HEIGHT = BASE + 28;
/** Fraction of its step that a bar fills. */
const BAR_SHARE = 0.72;
/** Least height of a bar in pixels, so that the smallest amount is visible. */
const MIN_BAR_HEIGHT = 2;
/** Fraction of the width at each edge where a centred label would stick out. */
const EDGE_SHARE = 0.25;

export function drawTimeBars(id: string, span: Span, bars: readonly Bar[]): string {
  const most = bars.reduce((largest, { units }) => (units > largest ? units : largest), 0n);
  const step = 100 / bars.length;
  const tallest = most === 0n ? -1 : bars.findLastIndex(({ units }) => units === most);
  return html`<svg class="chart" role="img" aria-labelledby="${id}-name ${id}-says" width="100%" height="${HEIGHT}">
<title id="${id}-name">Fees paid, by ${span}</title>
<desc id="${id}-says">${describeBars(span, bars, tallest)}</desc>
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
  const height = Math.max(MIN_BAR_HEIGHT, shareOf(units, most) * MAX_BAR_HEIGHT);
  const left = step * (at + (1 - BAR_SHARE) / 2);
  return html`<rect class="bar" x="${toPercent(left)}" width="${toPercent(step * BAR_SHARE)}" y="${roundToThousandths(BASE - height)}" height="${roundToThousandths(height)}"><title>${nameSpanFully(span, from)}: ${showCount(Number(fees), 'fee')}, ${showUnits(units)}</title></rect>
`;
}

function drawTallest(span: Span, bars: readonly Bar[], at: number): string {
  const { from, units } = bars[at] ?? { from: '', units: 0n };
  const middle = (at + 0.5) / bars.length;
  const left = middle < EDGE_SHARE;
  const right = middle > 1 - EDGE_SHARE;
  const x = left ? at / bars.length : right ? (at + 1) / bars.length : middle;
  const side = left ? '' : right ? ' end' : ' middle';
  return html`<text class="direct${side}" x="${toPercent(100 * x)}" y="${TOP - 8}">${nameSpanFully(span, from)}: ${showUnits(units)}</text>`;
}

function describeBars(span: Span, bars: readonly Bar[], tallest: number): string {
  const [first, last] = [bars[0], bars.at(-1)];
  const most = bars[tallest];
  if (first === undefined || last === undefined || most === undefined) return 'No fee was paid in this time.';
  return `From ${nameSpan(span, first.from)} to ${nameSpan(span, last.from)}. Most in ${nameSpanFully(span, most.from)}: ${showUnits(most.units)}. The table below has each ${span}.`;
}

/** Returns the share with enough precision for a chart. */
export function shareOf(units: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((units * 100_000n) / whole) / 100_000;
}

export function toPercent(value: number): string {
  return `${roundToThousandths(value)}%`;
}

function roundToThousandths(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

export type Span = 'day' | 'week' | 'month' | 'year';

interface Bar {
  /** First day, such as 2026-01-05. */
  from: string;
  fees: bigint;
  units: bigint;
}

const DAY_MS = 86_400_000;
const FEWEST_BARS = 14;
const MAX_DAYS = 31;
const MAX_WEEKS = 53;
const MAX_MONTHS = 60;

/** Sums the fees by the shortest spans that fit into the chart, including spans without fees. */
export function spreadOverTime(days: readonly FeesOfDay[], nowMs: number): { span: Span; bars: Bar[] } {
  const first = Date.parse(days[0]?.day ?? isoDayOf(nowMs));
  const last = Math.max(Date.parse(isoDayOf(nowMs)), Date.parse(days.at(-1)?.day ?? isoDayOf(nowMs)));
  const span = spanFor(first, last);
  const starts: number[] = [];
  for (
    let at = startOfSpan(span, last);
    at >= startOfSpan(span, first) || starts.length < FEWEST_BARS;
    at = startOfSpan(span, at - DAY_MS)
  )
    starts.unshift(at);
  const bars = new Map(starts.map((at) => [at, { from: isoDayOf(at), fees: 0n, units: 0n }]));
  for (const { day, fees, units } of days) {
    const bar = bars.get(startOfSpan(span, Date.parse(day)));
    if (bar === undefined) continue;
    bar.fees += fees;
    bar.units += units;
  }
  return { span, bars: [...bars.values()] };
}

function spanFor(first: number, last: number): Span {
  const days = (last - first) / DAY_MS + 1;
  if (days <= MAX_DAYS) return 'day';
  if (days <= MAX_WEEKS * 7) return 'week';
  return days <= MAX_MONTHS * 30 ? 'month' : 'year';
}

function isoDayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Returns the first day of the span. Weeks begin on Monday. */
function startOfSpan(span: Span, dayMs: number): number {
  const day = new Date(dayMs);
  if (span === 'day') return dayMs;
  if (span === 'week') return dayMs - ((day.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(day.getUTCFullYear(), span === 'month' ? day.getUTCMonth() : 0);
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const month = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** Formats a day, or a week by its first day, as `5 Jan 2026`, and longer spans as `Jan 2026` or `2026`. */
export function nameSpan(span: Span, from: string): string {
  const at = Date.parse(from);
  if (span === 'year') return from.slice(0, 4);
  if (span === 'month') return month.format(at);
  return day.format(at);
}

/** Names a span in text. Unlike on the axis, a week is named `week of 5 Jan 2026`. */
function nameSpanFully(span: Span, from: string): string {
  return span === 'week' ? `week of ${nameSpan(span, from)}` : nameSpan(span, from);
}

/** Formats an amount. Unlike a price, 0 is shown as `0.00 USDC`. */
export function showUnits(units: bigint): string {
  return units === 0n ? '0.00 USDC' : showPrice(usdcOfUnits(units));
}
