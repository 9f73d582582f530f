import { usdcText } from '../contract/money.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import type { TypedMessage } from './messages.ts';
import type { Offer } from './offer.ts';

const LONGEST_ADDRESS = 2_000;

/** Whether a web address is ASCII and cannot disguise its host. */
export function isSafeLink(address: string): boolean {
  if (address.length > LONGEST_ADDRESS || !/^https?:\/\/[!-~]+$/.test(address) || address.includes('\\')) return false;
  try {
    const { username, password } = new URL(address);
    return username === '' && password === '';
  } catch {
    return false;
  }
}

/** UNSEEN matches invisible characters and those that reverse the text around them. PILED matches excess marks on one letter. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
const PILED = /(\p{M}{3})\p{M}+/gu;
/** More names of invisible characters than this would fill the page. */
const MAX_MARKS = 2_000;
const REPLACEMENT = '\u{fffd}';

/** A run of visible text, or the name of an invisible character. */
type Run = { text: string } | { unseen: string };

/** Replaces each invisible character of a text with its name. Treats CRLF as one line break. */
export function nameInvisibleCharacters(text: string): Run[] {
  const plain = text.replaceAll('\r\n', '\n').replaceAll(PILED, '$1');
  const runs: Run[] = [];
  let from = 0;
  let marks = 0;
  for (const match of plain.matchAll(UNSEEN)) {
    marks += 1;
    if (marks > MAX_MARKS) return [{ text: plain.replaceAll(UNSEEN, REPLACEMENT) }];
    if (match.index > from) runs.push({ text: plain.slice(from, match.index) });
    runs.push({ unseen: codePointName(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < plain.length) runs.push({ text: plain.slice(from) });
  return runs;
}

/** Returns the text as one plain line without invisible characters, where elements cannot be used. */
export function markedText(text: string): string {
  return nameInvisibleCharacters(text)
    .map((run) => ('text' in run ? run.text : REPLACEMENT))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Formats an amount like the listing does: `4.00 USDC`. */
export function formatAmount(units: bigint): string {
  return `${usdcText(units).replace(/0{1,4}$/, '')} USDC`;
}

/** Explains the message in rows of name and value. Amount, addresses and expiry are read from the message, not from the offer. */
export function describeMessage(typed: TypedMessage, offer: Offer, nowMs: number): [name: string, value: string][] {
  const { from, to, value, validBefore } = typed.message;
  const untilMs = Number(validBefore) * 1_000;
  return [
    ['You pay', `${formatAmount(BigInt(value))} on ${NETWORKS[offer.network].displayName}`],
    ['To', `${to} (merchant ${markedText(offer.merchant)})`],
    ['From', from],
    ['For', `“${markedText(offer.title)}”, listing ${offer.id}`],
    ['Good until', `${formatClock(untilMs)}, ${formatDuration(Math.max(0, untilMs - nowMs))} from now`],
  ];
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;

export function formatClock(ms: number): string {
  return CLOCK.format(ms);
}

/** Formats a duration as `7 s`, `2 min`, `1 min 20 s` or `1 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < MINUTE_SECONDS) return `${seconds} s`;
  if (seconds < HOUR_SECONDS)
    return joinUnits(Math.floor(seconds / MINUTE_SECONDS), 'min', seconds % MINUTE_SECONDS, 's');
  const minutes = Math.floor(seconds / MINUTE_SECONDS);
  return joinUnits(Math.floor(minutes / MINUTE_SECONDS), 'h', minutes % MINUTE_SECONDS, 'min');
}

function joinUnits(many: number, unit: string, rest: number, smaller: string): string {
  return rest === 0 ? `${many} ${unit}` : `${many} ${unit} ${rest} ${smaller}`;
}

export function describeEstimate(ms: number): string {
  if (ms < 15_000) return 'a few seconds';
  if (ms < 90_000) return 'about a minute';
  return `about ${Math.round(ms / 60_000)} minutes`;
}
