import { styleText } from 'node:util';
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

/** Listings as a table, with a line of names above it. */
export function listingRows(rows: readonly Row[]): string[] {
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
  return tableOf([['ID', 'PRICE', 'SELLER', 'AISLE', 'SALES', 'VOTES', 'TITLE'], ...cells]);
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
export function listingLines(listing: ListingDetail): string[] {
  const { id, title, price_usdc, merchant, aisle, tags, state, sales, verified_sales, license } = listing;
  return [
    `${id}  ${oneLine(title, 120)}`,
    ...(listing.title_note === undefined ? [] : [`warning: its title has ${oneLine(listing.title_note)}`]),
    `${priceText(price_usdc)}, sold by ${nameOf(merchant, listing.maintainer)}, paid to ${listing.seller_wallet}`,
    `${state}, aisle ${aisle}${tags.length === 0 ? '' : `, tags ${tags.join(' ')}`}, license ${license ?? 'not said'}`,
    `${sales} sales (${verified_sales} by distinct wallets), ${votesText(listing)}, listed ${listing.created_at}`,
    ...(listing.artifact_commitment === null
      ? ['a thing of the city']
      : [
          `${listing.artifact_bytes} bytes of ${listing.artifact_media_type}, commitment ${listing.artifact_commitment}`,
        ]),
    ...(listing.superseded_by === null ? [] : [`superseded by ${listing.superseded_by}`]),
    ...(listing.supersedes === null ? [] : [`supersedes ${listing.supersedes}`]),
    ...(listing.removed_reason === null ? [] : [`removed: ${oneLine(listing.removed_reason, 500)}`]),
    ...(listing.withdrawn_reason === null ? [] : [`withdrawn: ${oneLine(listing.withdrawn_reason, 500)}`]),
    ...(listing.text_flags.length === 0
      ? []
      : [`warning: its texts address a model or hide something (${listing.text_flags.join(', ')})`]),
    '',
    ...quoted(listing.description),
    ...(listing.preview === '' ? [] : ['', 'Preview', ...quoted(listing.preview)]),
  ];
}

/** A market of before does not say how many are of buyers. */
function votesText({ votes, votes_by_buyers: byBuyers }: ListingSummary): string {
  return byBuyers === undefined ? `${votes} votes` : `${votes} votes (${byBuyers} by buyers)`;
}

/** Another's text, line by line behind a mark. */
export function quoted(text: string): string[] {
  return text.split('\n').map((line) => `| ${line}`.trimEnd());
}

/** What looks like a key or a code of any market, whole or cut off: the prefix is the market's own choice (W3). */
const SECRET_SHAPE =
  /[a-z][a-z0-9]{1,15}_(?:sk_[0-9a-z]{16,}|dt_[0-9a-z]{40,}|(?:rc|pc)_[0-9a-z]{5}-[0-9a-z]{5}[0-9a-z-]*)/gi;
/** Characters that move the cursor, colour text or turn its direction; what a market says is printed without them. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu;

export function holdsSecret(text: string): boolean {
  return text.search(SECRET_SHAPE) !== -1;
}

/** For everything that is printed but what --reveal asks for. */
export function hideSecrets(text: string): string {
  return text.replace(UNPRINTABLE, '').replace(SECRET_SHAPE, '[secret]');
}

/** Every text of a value cleaned, names of members too: what is printed as JSON stays JSON, since nothing is taken out of its own marks. */
export function cleanValue(value: unknown, clean: (text: string) => string = hideSecrets): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((one) => cleanValue(one, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [clean(name), cleanValue(one, clean)]));
}

/** One line of JSON for a program. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(cleanValue(value));
}

/** One line of another's text, cut to so many characters. */
export function oneLine(text: string, longest = 100): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const characters = [...line];
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join('')}…`;
}

const STYLES = [
  [/^(?:refused|outcome unknown):/, 'red'],
  [/^(?:not done|warning):/, 'yellow'],
  [/^next:/, 'cyan'],
  [/^[A-Z][A-Za-z ]+$/, 'bold'],
] as const;

/** The first word coloured by what it says. Only for a line that was cleaned, and only for a terminal. */
export function coloured(line: string): string {
  for (const [start, style] of STYLES) {
    const found = start.exec(line)?.[0];
    // Whether it is a terminal is decided where it is printed.
    if (found !== undefined) return styleText(style, found, { validateStream: false }) + line.slice(found.length);
  }
  return line;
}
