import type { Span } from './spread-over-time.ts';

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const month = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `5 Jan 2026`, or what is longer and begins then. */
export function nameSpan(span: Span, from: string): string {
  const at = Date.parse(from);
  if (span === 'year') return from.slice(0, 4);
  if (span === 'month') return month.format(at);
  return day.format(at);
}

/** Where it stands alone. */
export function nameSpanFully(span: Span, from: string): string {
  return span === 'week' ? `week of ${nameSpan(span, from)}` : nameSpan(span, from);
}
