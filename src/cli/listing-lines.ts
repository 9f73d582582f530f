import type { ListingDetail, ListingSummary } from '../contract/listings.ts';
import { oneLine } from './printable.ts';

type Row = Pick<
  ListingSummary,
  'id' | 'title' | 'price_usdc' | 'merchant' | 'aisle' | 'votes' | 'sales' | 'pinned' | 'state'
>;

export function priceText(usdc: number): string {
  return usdc === 0 ? 'free' : `${usdc} USDC`;
}

/** Listings as a table, with a line of names above it. */
export function listingRows(rows: readonly Row[]): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map(({ id, price_usdc, merchant, aisle, votes, sales, state, pinned, title }) => [
    String(id),
    priceText(price_usdc),
    merchant,
    aisle,
    String(sales),
    String(votes),
    `${state === 'live' ? '' : `(${state}) `}${oneLine(title)}${pinned ? ' (pinned)' : ''}`,
  ]);
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
  const { id, title, price_usdc, merchant, aisle, tags, state, votes, sales, verified_sales, license } = listing;
  return [
    `${id}  ${oneLine(title, 120)}`,
    `${priceText(price_usdc)}, sold by ${merchant}, paid to ${listing.seller_wallet}`,
    `${state}, aisle ${aisle}${tags.length === 0 ? '' : `, tags ${tags.join(' ')}`}, license ${license ?? 'not said'}`,
    `${sales} sales (${verified_sales} by distinct wallets), ${votes} votes, listed ${listing.created_at}`,
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

/** Another's text, line by line behind a mark. */
export function quoted(text: string): string[] {
  return text.split('\n').map((line) => `| ${line}`.trimEnd());
}
