import { html } from 'ghtml';
import { USDC_DECIMALS } from '../../../contract/vocabulary.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONGEST_AGO_DAYS = 30;
/** Pages are kept, so ages move in steps; nothing here needs them finer. */
export const AGE_STEP_MS = 10 * MINUTE_MS;

/** Asked once for each: a formatter takes longer than all else about a date. */
const MONTHS = Array.from({ length: 12 }, (_, month) =>
  new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' }).format(Date.UTC(2026, month)),
);
/** Below it a number is its digits, and no formatter need be asked. */
const LEAST_GROUPED = 1_000;
const NUMBER = new Intl.NumberFormat('en-US');

/** `2.50 USDC`: two decimals, and more only where they say something. */
export function showPrice(usdc: number): string {
  if (usdc === 0) return 'Free';
  const [whole = '0', decimals = ''] = usdc.toFixed(USDC_DECIMALS).split('.');
  return `${whole.length < String(LEAST_GROUPED).length ? whole : NUMBER.format(BigInt(whole))}.${decimals.replace(/0{1,4}$/, '')} USDC`;
}

export function showCount(count: number, one: string, many = `${one}s`): string {
  return `${showNumber(count)} ${count === 1 ? one : many}`;
}

export function showNumber(count: number): string {
  return Number.isInteger(count) && count >= 0 && count < LEAST_GROUPED ? String(count) : NUMBER.format(count);
}

/** How long ago; the tooltip has the whole time. */
export function renderAge(iso: string, nowMs: number): string {
  return html`<time datetime="${iso}" title="${iso}">${ageOf(Date.parse(iso), nowMs)}</time>`;
}

function ageOf(atMs: number, nowMs: number): string {
  const age = nowMs - atMs;
  if (age < AGE_STEP_MS) return 'just now';
  if (age < HOUR_MS) return `${Math.floor(age / AGE_STEP_MS) * (AGE_STEP_MS / MINUTE_MS)} minutes ago`;
  if (age < DAY_MS) return `${showCount(Math.floor(age / HOUR_MS), 'hour')} ago`;
  const days = Math.floor(age / DAY_MS);
  return days <= LONGEST_AGO_DAYS ? `${showCount(days, 'day')} ago` : showDay(atMs);
}

/** The day, for what happened once and is looked up. */
export function renderDay(iso: string): string {
  return html`<time datetime="${iso}" title="${iso}">${showDay(Date.parse(iso))}</time>`;
}

function showDay(atMs: number): string {
  const date = new Date(atMs);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}
