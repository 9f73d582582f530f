import type { FeesOfDay } from './store.ts';

export type Span = 'day' | 'week' | 'month' | 'year';

export interface Bar {
  /** As in 2026-01-05: its first day. */
  from: string;
  fees: bigint;
  units: bigint;
}

const DAY_MS = 86_400_000;
const FEWEST_BARS = 14;
const MOST_DAYS = 31;
const MOST_WEEKS = 53;
const MOST_MONTHS = 60;

/** All fees, in spans that are as short as the picture has room for; spans without any are there as well. */
export function spreadOverTime(days: readonly FeesOfDay[], nowMs: number): { span: Span; bars: Bar[] } {
  const first = Date.parse(days[0]?.day ?? dayOf(nowMs));
  const last = Math.max(Date.parse(dayOf(nowMs)), Date.parse(days.at(-1)?.day ?? dayOf(nowMs)));
  const span = spanFor(first, last);
  const starts: number[] = [];
  for (let at = startOf(span, last); at >= startOf(span, first) || starts.length < FEWEST_BARS; at = before(span, at))
    starts.unshift(at);
  const bars = new Map(starts.map((at) => [at, { from: dayOf(at), fees: 0n, units: 0n }]));
  for (const { day, fees, units } of days) {
    const bar = bars.get(startOf(span, Date.parse(day)));
    if (bar === undefined) continue;
    bar.fees += fees;
    bar.units += units;
  }
  return { span, bars: [...bars.values()] };
}

function spanFor(first: number, last: number): Span {
  const days = (last - first) / DAY_MS + 1;
  if (days <= MOST_DAYS) return 'day';
  if (days <= MOST_WEEKS * 7) return 'week';
  return days <= MOST_MONTHS * 30 ? 'month' : 'year';
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Weeks begin on Monday. */
function startOf(span: Span, dayMs: number): number {
  const day = new Date(dayMs);
  if (span === 'day') return dayMs;
  if (span === 'week') return dayMs - ((day.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(day.getUTCFullYear(), span === 'month' ? day.getUTCMonth() : 0);
}

function before(span: Span, startMs: number): number {
  return startOf(span, startMs - DAY_MS);
}
