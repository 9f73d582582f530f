import { styleText } from 'node:util';
import { escapedJson, inMarks, type MarketWords, oneLine, visible, withoutUnseen } from '../contract/foreign-words.ts';
import type { ListingDetail, ListingSummary } from '../contract/listings.ts';

type Row = Pick<
  ListingSummary,
  | 'id'
  | 'title'
  | 'title_note'
  | 'price_usdc'
  | 'merchant'
  | 'maintainer'
  | 'aisle'
  | 'votes'
  | 'sales'
  | 'pinned'
  | 'state'
>;

export function priceText(usdc: number): string {
  return usdc === 0 ? 'free' : `${usdc} USDC`;
}

/** A handle, with a mark where the market says that it is the maintainer's. */
export function nameOf(handle: string, isMaintainer: boolean | undefined): string {
  return isMaintainer === true ? `${handle} (maintainer)` : handle;
}

/** A line in which words of others stand. On a screen it is folded by us, so that none of them begins a row. */
export interface ForeignLine {
  foreign: string;
}
/** One line, whatever stands in it. */
export type Line = string | ForeignLine;

export function foreignLine(line: string): ForeignLine {
  return { foreign: line };
}

/** Listings as a table, with a line of names above it. */
export function listingRows(rows: readonly Row[]): Line[] {
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

/** Cells in columns; the last one is as wide as it is. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** One listing in full. What its seller wrote stands behind a mark, so that no line of it looks like one of this program. */
export function listingLines(listing: ListingDetail): Line[] {
  const { id, title, price_usdc, merchant, aisle, tags, state, sales, verified_sales, license } = listing;
  return [
    foreignLine(`${id}  ${oneLine(title, 120)}`),
    ...(listing.title_note === undefined ? [] : [foreignLine(`warning: its title has ${oneLine(listing.title_note)}`)]),
    `${priceText(price_usdc)}, sold by ${nameOf(merchant, listing.maintainer)}, paid to ${listing.seller_wallet}`,
    foreignLine(
      `${state}, aisle ${aisle}${tags.length === 0 ? '' : `, tags ${oneLine(tags.join(' '), 200)}`}${listing.removed ? '' : `, license ${oneLine(license ?? 'not said')}`}`,
    ),
    `${sales} sales (${verified_sales} by distinct wallets), ${votesText(listing)}, listed ${listing.created_at}`,
    ...(listing.artifact_commitment === null
      ? ['a thing of the city']
      : [
          foreignLine(
            `${listing.artifact_bytes} bytes${listing.artifact_media_type === null ? '' : ` of ${oneLine(listing.artifact_media_type)}`}, commitment ${listing.artifact_commitment}`,
          ),
        ]),
    ...(listing.superseded_by === null ? [] : [`superseded by ${listing.superseded_by}`]),
    ...(listing.supersedes === null ? [] : [`supersedes ${listing.supersedes}`]),
    ...(listing.removed_reason === null ? [] : [foreignLine(`removed: ${inMarks(listing.removed_reason, 500)}`)]),
    ...(listing.withdrawn_reason === null ? [] : [foreignLine(`withdrawn: ${inMarks(listing.withdrawn_reason, 500)}`)]),
    ...(listing.text_flags.length === 0
      ? []
      : [`warning: its texts address a model or hide something (${listing.text_flags.join(', ')})`]),
    '',
    ...quoteLines(listing.description),
    ...(listing.preview === '' ? [] : ['', 'Preview', ...quoteLines(listing.preview)]),
  ];
}

/** A market of before does not say how many are of buyers. */
function votesText({ votes, votes_by_buyers: byBuyers }: ListingSummary): string {
  return byBuyers === undefined ? `${votes} votes` : `${votes} votes (${byBuyers} by buyers)`;
}

const MARGIN = '| ';

/** Another's text, line by line behind a mark. */
export function quoteLines(text: string): ForeignLine[] {
  return text.split('\n').map((line) => foreignLine(`${MARGIN}${line}`.trimEnd()));
}

/** Words of a market, behind the same mark. */
export function quotedMarket({ title, detail, next_step, errors = [], reason }: MarketWords): Line[] {
  return [
    'The market says:',
    ...(reason === undefined ? [] : quoteLines(`reason: ${reason}`)),
    ...[title, detail].flatMap((text) => (text === undefined ? [] : quoteLines(text))),
    ...errors.flatMap(({ path, message }) => quoteLines(`  ${path}: ${message}`)),
    ...(next_step === undefined ? [] : quoteLines(`it advises: ${next_step}`)),
  ];
}

/** What looks like a key or a code of any market, whole or cut off: the prefix is the market's own choice (W3). */
const SECRET_SHAPE =
  /[a-z][a-z0-9]{1,15}_(?:sk_[0-9a-z]{16,}|dt_[0-9a-z]{40,}|(?:rc|pc)_[0-9a-z]{5}-[0-9a-z]{5}[0-9a-z-]*)/gi;
export function holdsSecret(text: string): boolean {
  return text.search(SECRET_SHAPE) !== -1;
}

/** For everything that is printed but what --reveal asks for: without secrets, and with what nobody sees spelled out. */
export function hideSecrets(text: string): string {
  return visible(maskSecrets(text));
}

function maskSecrets(text: string): string {
  const plain = text.replace(SECRET_SHAPE, '[secret]');
  const bare = withoutUnseen(plain);
  // A secret is one, too, where characters that nobody sees stand in it.
  return bare !== plain && holdsSecret(bare) ? bare.replace(SECRET_SHAPE, '[secret]') : plain;
}

/** Every text of a value cleaned, names of members too: what is printed as JSON stays JSON, since nothing is taken out of its own marks. */
function cleanValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleanValue(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), cleanValue(one, clean)]));
}

/** One line of JSON for a program, with its texts as they came: what steers a terminal is escaped. */
export function jsonLine(value: unknown): string {
  return escapedJson(JSON.stringify(cleanValue(value, maskSecrets)));
}

/**
 * A line as a screen of that many columns shows it. What goes on in the next row is set in, behind the mark where it has one, so that no
 * word of another begins a row. Null: it is no screen.
 */
export function foldLine(line: string, columns: number | null): string[] {
  const text = line.replaceAll('\t', '    ').replaceAll('\n', '\\u{a}');
  const margin = text.startsWith(MARGIN) ? MARGIN : '    ';
  const most = Math.max(MARGIN.length * 8, columns ?? Number.POSITIVE_INFINITY);
  const rows: string[] = [];
  let [row, width] = ['', 0];
  for (const character of text) {
    const wide = (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
    if (width + wide > most) {
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

/** The first word coloured by what it says. Only for a line that was cleaned, and only for a terminal. */
export function colourLine(line: string): string {
  for (const [start, style] of STYLES) {
    const found = start.exec(line)?.[0];
    // Whether it is a terminal is decided where it is printed.
    if (found !== undefined) return styleText(style, found, { validateStream: false }) + line.slice(found.length);
  }
  return line;
}
