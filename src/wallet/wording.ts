import { usdcText } from '../contract/money.ts';
import { NETWORKS } from '../contract/vocabulary.ts';
import type { TypedMessage } from './messages.ts';
import type { Offer } from './offer.ts';

const LONGEST = 2_000;

/** True for a web address in plain letters that leads where it seems to lead. */
export function isFollowable(address: string): boolean {
  if (address.length > LONGEST || !/^https?:\/\/[!-~]+$/.test(address) || address.includes('\\')) return false;
  try {
    const { username, password } = new URL(address);
    return username === '' && password === '';
  } catch {
    return false;
  }
}

/** Characters that cannot be seen or that turn around the text next to them; and marks piled on one letter. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
const PILED = /(\p{M}{3})\p{M}+/gu;
/** More marks than this would fill the page. */
const MOST_MARKS = 2_000;
const REPLACEMENT = '\u{fffd}';

/** A run of visible text, or the name of a character that cannot be seen. */
type Run = { text: string } | { unseen: string };

/** Names every invisible character of a text in its place. Reads CRLF as one line end. */
export function markUnseen(text: string): Run[] {
  const plain = text.replaceAll('\r\n', '\n').replaceAll(PILED, '$1');
  const runs: Run[] = [];
  let from = 0;
  let marks = 0;
  for (const match of plain.matchAll(UNSEEN)) {
    marks += 1;
    if (marks > MOST_MARKS) return [{ text: plain.replaceAll(UNSEEN, REPLACEMENT) }];
    if (match.index > from) runs.push({ text: plain.slice(from, match.index) });
    runs.push({ unseen: nameOf(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < plain.length) runs.push({ text: plain.slice(from) });
  return runs;
}

/** The same as one line of plain text, for places without elements. */
export function markedText(text: string): string {
  return markUnseen(text)
    .map((run) => ('text' in run ? run.text : REPLACEMENT))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** `4.00 USDC`, as the listing shows it. */
export function sayAmount(units: bigint): string {
  return `${usdcText(units).replace(/0{1,4}$/, '')} USDC`;
}

/** Explains the message in rows of name and value. Values are read from the message, not from the listing. */
export function sayMessage(typed: TypedMessage, offer: Offer, nowMs: number): [name: string, value: string][] {
  const { from, to, value, validBefore } = typed.message;
  const untilMs = Number(validBefore) * 1_000;
  return [
    ['You pay', `${sayAmount(BigInt(value))} on ${NETWORKS[offer.network].displayName}`],
    ['To', `${to} (merchant ${markedText(offer.merchant)})`],
    ['From', from],
    ['For', `“${markedText(offer.title)}”, listing ${offer.id}`],
    ['Good until', `${sayClock(untilMs)}, ${sayDuration(Math.max(0, untilMs - nowMs))} from now`],
  ];
}

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 3_600;

export function sayClock(ms: number): string {
  return CLOCK.format(ms);
}

/** `7 s`, `2 min`, `1 min 20 s`, `1 h 5 min`. */
export function sayDuration(ms: number): string {
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

export function sayEstimate(ms: number): string {
  if (ms < 15_000) return 'a few seconds';
  if (ms < 90_000) return 'about a minute';
  return `about ${Math.round(ms / 60_000)} minutes`;
}
