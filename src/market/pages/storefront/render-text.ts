import { html } from 'ghtml';
import { TEXT_FLAGS, type TextFlag } from '../../../contract/text.ts';
import { USDC_DECIMALS } from '../../../contract/vocabulary.ts';

/** Invisible characters, some of which reverse the text around them. The market accepts none today, but pages do not rely on that check. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
/** Matches a letter with more combining marks than any alphabet uses; they would overlap the surrounding text. */
const EXCESS_MARKS = /(\p{M}{3})\p{M}+/gu;
/** Matches URLs of printable ASCII only, because look-alike letters could disguise the host. */
const ADDRESS = /(https?:\/\/[!-~]+)/;
/** Matches texts of visible ASCII, spaces, tabs and line breaks, which need no cleaning. Most texts match. */
const PLAIN_TEXT = /^[\n\t -~]*$/;
/** Code points above this take two UTF-16 units. */
const LAST_SINGLE_UNIT = 0xffff;
/** ASCII, because a single wider character doubles the memory of a page's text and slows its sending. */
const DOTS = '...';
const CLOSERS = '.,;:!?\'")]}>';

const FLAG_WORDS: Readonly<Record<TextFlag, string>> = {
  instructions: 'reads like instructions to a model',
  role_markup: 'holds markup of a conversation with a model',
  tool_call: 'looks like a call of a tool',
  asks_for_secret: 'asks for a secret',
  payment_request: 'asks for money elsewhere',
  encoded: 'holds encoded text',
};

/** Removes invisible characters and excess marks from a user's text. The result is not escaped for HTML. */
export function cleanText(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  return text.replaceAll(UNSEEN, '\u{fffd}').replaceAll(EXCESS_MARKS, '$1');
}

/** Renders a user's text on one line, isolated from the text direction around it. */
export function renderLine(text: string): string {
  return html`<bdi>${cleanText(text).replaceAll(/\s+/g, ' ').trim()}</bdi>`;
}

/** Renders a user's text as written: keeps line breaks, interprets no markup, and links plain URLs. */
export function renderUserText(text: string): string {
  // `split` with one capture group puts the captured pieces at odd indexes.
  const pieces = cleanText(text).split(ADDRESS);
  return html`<div class="written" dir="auto">!${pieces.map((piece, at) => (at % 2 === 0 ? html`${piece}` : renderAddress(piece)))}</div>`;
}

function renderAddress(piece: string): string {
  // Scan from the end, because a regular expression would take quadratic time on many closers in a row.
  let length = piece.length;
  while (length > 0 && CLOSERS.includes(piece.charAt(length - 1))) length -= 1;
  const address = piece.slice(0, length);
  const rest = piece.slice(length);
  if (!isPlainAddress(address)) return html`${piece}`;
  return html`<a href="${address}" rel="nofollow ugc noopener">${address}</a>${rest}`;
}

/** Rejects URLs with a user name, because text before an @ looks like the host. */
function isPlainAddress(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && url.username === '' && url.password === '' && !address.includes('\\');
}

/** Renders warnings about text that seems to address a language model. */
export function renderFlags(flags: readonly string[]): string {
  const words = TEXT_FLAGS.filter((flag) => flags.includes(flag)).map((flag) => FLAG_WORDS[flag]);
  if (words.length === 0) return '';
  return html`<p class="flags"><strong>Flagged text:</strong> ${words.join('; ')}.</p>`;
}

/** Renders the market's note about a name that a user chose, if there is one. */
export function renderNote(note: string | undefined, of: string): string {
  return note === undefined ? '' : html`<p class="flags noted"><strong>Note:</strong> this ${of} has ${note}.</p>`;
}

export function renderShortNote(note: string | undefined): string {
  return note === undefined ? '' : ' <span class="flagged noted">Look-alike letters</span>';
}

/** Shortens a text to one line of at most `most` letters, dots included. */
export function shortenToLine(text: string, most: number): string {
  const line = cleanText(text).replaceAll(/\s+/g, ' ').trim();
  if (line.length <= most || indexAfter(line, most) >= line.length) return line;
  return `${line.slice(0, indexAfter(line, most - DOTS.length)).trimEnd()}${DOTS}`;
}

/** Returns the string index after this many code points. */
function indexAfter(line: string, letters: number): number {
  let end = 0;
  for (let letter = 0; letter < letters && end < line.length; letter += 1) {
    end += (line.codePointAt(end) ?? 0) > LAST_SINGLE_UNIT ? 2 : 1;
  }
  return end;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONGEST_AGO_DAYS = 30;
/** Ages change in steps of this length, so that cached pages stay valid in between. */
export const AGE_STEP_MS = 10 * MINUTE_MS;

/** Formatted once, because formatters are slow. */
const MONTHS = Array.from({ length: 12 }, (_, month) =>
  new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' }).format(Date.UTC(2026, month)),
);
/** Smaller numbers have no separators and need no formatter. */
const MIN_GROUPED = 1_000;
const NUMBER_FORMAT = new Intl.NumberFormat('en-US');

/** Formats a price such as `2.50 USDC`, with more than two decimals only if they are not zero. */
export function showPrice(usdc: number): string {
  if (usdc === 0) return 'Free';
  const [whole = '0', decimals = ''] = usdc.toFixed(USDC_DECIMALS).split('.');
  return `${whole.length < String(MIN_GROUPED).length ? whole : NUMBER_FORMAT.format(BigInt(whole))}.${decimals.replace(/0{1,4}$/, '')} USDC`;
}

export function capitalize(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

export function showCount(count: number, one: string, many = `${one}s`): string {
  return `${showNumber(count)} ${count === 1 ? one : many}`;
}

export function showNumber(count: number): string {
  return Number.isInteger(count) && count >= 0 && count < MIN_GROUPED ? String(count) : NUMBER_FORMAT.format(count);
}

/** Renders how long ago it was. The tooltip has the full time. */
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

/** Renders the date instead of the age, for events that are looked up as records. */
export function renderDay(iso: string): string {
  return html`<time datetime="${iso}" title="${iso}">${showDay(Date.parse(iso))}</time>`;
}

function showDay(atMs: number): string {
  const date = new Date(atMs);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}
