import { styleText } from 'node:util';
import {
  escapedJson,
  escapeInvisible,
  inQuotes,
  type MarketWords,
  oneLine,
  removeInvisible,
} from '../contract/foreign-words.ts';
import type { ListingDetail, ListingSummary } from '../contract/listings.ts';

export function priceText(usdc: number): string {
  return usdc === 0 ? 'free' : `${usdc} USDC`;
}

export function nameOf(handle: string, isMaintainer: boolean | undefined): string {
  return isMaintainer === true ? `${handle} (maintainer)` : handle;
}

/** A line that contains text by others. We wrap it ourselves, because no such text may start a row on the terminal. */
export interface ForeignLine {
  foreign: string;
}
export type Line = string | ForeignLine;

export function foreignLine(line: string): ForeignLine {
  return { foreign: line };
}

export function listingRows(rows: readonly ListingSummary[]): Line[] {
  if (rows.length === 0) return [];
  const cells = rows.map(
    ({ id, price_usdc, merchant, maintainer, aisle, votes, sales, state, pinned, title, title_note: note }) => [
      String(id),
      priceText(price_usdc),
      nameOf(merchant, maintainer),
      aisle,
      String(sales),
      String(votes),
      `${state === 'live' ? '' : `(${state}) `}${oneLine(title)}${pinned ? ' (pinned)' : ''}${note === undefined ? '' : ` (${oneLine(note)})`}`,
    ],
  );
  return tableOf([['ID', 'PRICE', 'SELLER', 'AISLE', 'SALES', 'VOTES', 'TITLE'], ...cells]).map(foreignLine);
}

/** Aligns cells in columns; the last column isn't padded. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Returns the lines that show one listing in full. Quotes the seller's text, so that it can't pass for our own. */
export function listingLines(listing: ListingDetail): Line[] {
  const { id, title, price_usdc, merchant, aisle, tags, keywords, state, sales, verified_sales, license } = listing;
  return [
    foreignLine(`${id}  ${oneLine(title, 120)}`),
    ...(listing.title_note === undefined ? [] : [foreignLine(`warning: its title has ${oneLine(listing.title_note)}`)]),
    `${priceText(price_usdc)}, sold by ${nameOf(merchant, listing.maintainer)}, paid to ${listing.seller_wallet}`,
    foreignLine(
      `${state}, aisle ${aisle}${tags.length === 0 ? '' : `, tags ${oneLine(tags.join(' '), 200)}`}${listing.removed ? '' : `, license ${oneLine(license ?? 'not stated')}`}`,
    ),
    ...(keywords.length === 0 ? [] : [foreignLine(`keywords ${oneLine(keywords.join(', '), 900)}`)]),
    `${countText(sales, 'sale')} (${verified_sales} by distinct wallets), ${votesText(listing)}, listed ${listing.created_at}`,
    ...(listing.artifact_commitment === null
      ? ['a city thing: buy it in its city']
      : [
          foreignLine(
            `${countText(listing.artifact_bytes ?? 0, 'byte')}${listing.artifact_media_type === null ? '' : ` of ${oneLine(listing.artifact_media_type)}`}, commitment ${listing.artifact_commitment}`,
          ),
        ]),
    ...(listing.superseded_by === null ? [] : [`superseded by ${listing.superseded_by}`]),
    ...(listing.supersedes === null ? [] : [`supersedes ${listing.supersedes}`]),
    ...(listing.removed_reason === null ? [] : [foreignLine(`removed: ${inQuotes(listing.removed_reason, 500)}`)]),
    ...(listing.withdrawn_reason === null
      ? []
      : [foreignLine(`withdrawn: ${inQuotes(listing.withdrawn_reason, 500)}`)]),
    ...(listing.text_flags.length === 0
      ? []
      : [`warning: its text seems to address a model or to hide something (${listing.text_flags.join(', ')})`]),
    '',
    ...quoteLines(listing.description),
    ...(listing.preview === '' ? [] : ['', 'Preview', ...quoteLines(listing.preview)]),
  ];
}

export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Markets before version 0.2.0 don't say how many votes are by buyers. */
function votesText({ votes, votes_by_buyers: byBuyers }: ListingSummary): string {
  const total = countText(votes, 'vote');
  return byBuyers === undefined ? total : `${total} (${byBuyers} by buyers)`;
}

const MARGIN = '| ';

/** Prefixes each line of someone else's text with a mark. */
export function quoteLines(text: string): ForeignLine[] {
  return text.split('\n').map((line) => foreignLine(`${MARGIN}${line}`.trimEnd()));
}

/** Quotes the market's message, each line behind the same mark. */
export function quotedMarket({ title, detail, next_step, errors = [], reason }: MarketWords): Line[] {
  return [
    'The market says:',
    ...(reason === undefined ? [] : quoteLines(`reason: ${reason}`)),
    ...[title, detail].flatMap((text) => (text === undefined ? [] : quoteLines(text))),
    ...errors.flatMap(({ path, message }) => quoteLines(`  ${path}: ${message}`)),
    ...(next_step === undefined ? [] : quoteLines(`it advises: ${next_step}`)),
  ];
}

/** Matches keys and codes of any market, even if cut off. Each market chooses its own prefix. */
const SECRET_SHAPE =
  /[a-z][a-z0-9]{1,15}_(?:sk_[0-9a-z]{16,}|d[tl]_[0-9a-z]{40,}|(?:rc|pc)_[0-9a-z]{5}-[0-9a-z]{5}[0-9a-z-]*)/gi;
export function holdsSecret(text: string): boolean {
  return text.search(SECRET_SHAPE) !== -1;
}

/** Masks secrets and spells out invisible characters, in all output except what --reveal shows. */
export function hideSecrets(text: string): string {
  return escapeInvisible(maskSecrets(text));
}

function maskSecrets(text: string): string {
  const plain = text.replace(SECRET_SHAPE, '[secret]');
  const bare = removeInvisible(plain);
  // Invisible characters may be hidden inside a secret.
  return bare !== plain && holdsSecret(bare) ? bare.replace(SECRET_SHAPE, '[secret]') : plain;
}

/** Cleans all strings and member names within a value. Doing it before serializing keeps the output valid JSON. */
function cleanValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleanValue(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), cleanValue(one, clean)]));
}

/** Serializes a value as one line of JSON; control characters are escaped. */
export function jsonLine(value: unknown): string {
  return escapedJson(JSON.stringify(cleanValue(value, maskSecrets)));
}

/**
 * Wraps a line to a screen of that many columns, or not at all if null. Indents continuation rows, after the quote mark if there is one, so
 * that no foreign text starts a row.
 */
export function foldLine(line: string, columns: number | null): string[] {
  const text = line.replaceAll('\t', '    ').replaceAll('\n', '\\u{a}');
  const margin = text.startsWith(MARGIN) ? MARGIN : '    ';
  const maxWidth = Math.max(MARGIN.length * 8, columns ?? Number.POSITIVE_INFINITY);
  const rows: string[] = [];
  let [row, width] = ['', 0];
  for (const character of text) {
    const wide = (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
    if (width + wide > maxWidth) {
      rows.push(row);
      [row, width] = [margin, margin.length];
    }
    row += character;
    width += wide;
  }
  return [...rows, row];
}

const STYLES = [
  [/^(?:refused|outcome unknown):/, 'red'],
  [/^(?:not done|warning):/, 'yellow'],
  [/^next:/, 'cyan'],
  [/^[A-Z][A-Za-z ]+$/, 'bold'],
] as const;

/** Colours the line's first word by its meaning. Use it only for cleaned lines on a terminal. */
export function colourLine(line: string): string {
  for (const [start, style] of STYLES) {
    const word = start.exec(line)?.[0];
    // The caller has already decided that this is a terminal.
    if (word !== undefined) return styleText(style, word, { validateStream: false }) + line.slice(word.length);
  }
  return line;
}
