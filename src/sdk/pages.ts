import type { ResultOf } from '../contract/endpoint.ts';
import type { Endpoints } from '../contract/index.ts';
import type { AttributeName } from '../contract/listing-fields.ts';
import type { ListingSummary } from '../contract/listings.ts';
import type { MerchantRecord } from '../contract/merchant-record.ts';
import { unitsOfUsdc, usdcText } from '../contract/money.ts';
import type { SearchReport } from '../contract/search-report.ts';
import type { Aisle, EventKind, Match, Scope, Sort } from '../contract/vocabulary.ts';
import type { Client } from './client.ts';
import { type Page, readPages } from './page-cursor.ts';

/** Query of `GET /api/shelves`, without `fields` and `cursor`. */
export interface ShelfFilters extends Partial<Record<AttributeName, string>> {
  /** The need in natural words: listings with any of them, best first. "a phrase" and +word must occur, -word must not. */
  q?: string;
  /** `all` for listings with every word, as spelled; the last word may be incomplete. Default: `any`. */
  match?: Match;
  tag?: string;
  aisle?: Aisle;
  /** Handle of a merchant. */
  seller?: string;
  /** True for free goods only, false for goods with a price only. */
  free?: boolean;
  /** USDC with at most 6 decimals. */
  max_price_usdc?: number;
  /** Minimum number of distinct paying wallets other than the seller's. */
  verified_sales_min?: number;
  /** Default: `relevance` with `q`, otherwise `new`. */
  sort?: Sort;
  /** Rows per page, 1 to 50. */
  limit?: number;
}

export interface ShelfPage extends Page<ListingSummary> {
  /** How the words of `q` were searched. Null without `q`, and from earlier markets, which find only listings with every word. */
  search: SearchReport | null;
}

/** Yields pages of matching live listings. Sorted by `new`, pinned listings come first, and each group is newest first. */
export function shelfPages(client: Client, filters: ShelfFilters = {}): AsyncGenerator<ShelfPage> {
  const { free, max_price_usdc, ...others } = filters;
  const query = {
    ...others,
    ...(free === undefined ? {} : { free: free ? ('true' as const) : ('false' as const) }),
    ...(max_price_usdc === undefined ? {} : { max_price_usdc: priceText(max_price_usdc) }),
  };
  const sort = filters.sort ?? (filters.q === undefined ? 'new' : 'relevance');
  let search: SearchReport | null = null;
  const pages = readPages<ListingSummary>({
    read: async (cursor) => {
      const { body } = await client.browseShelves({ query: { ...query, cursor } });
      search = body.search;
      return { ...body, rows: body.listings.filter(isSummary), next: body.next_cursor };
    },
    idOf: (listing) => listing.id,
    ids: sort === 'new' ? 'pinned_first' : 'any',
    appendOnly: false,
    limit: filters.limit,
  });
  return withSearch(pages, () => search);
}

async function* withSearch(
  pages: AsyncIterable<Page<ListingSummary>>,
  searchOfPage: () => SearchReport | null,
): AsyncGenerator<ShelfPage, void, undefined> {
  for await (const page of pages) yield { ...page, search: searchOfPage() };
}

/** Formats a price without an exponent, which the market would refuse. */
function priceText(usdc: number): string {
  const units = unitsOfUsdc(usdc);
  if (units === null) throw new TypeError('max_price_usdc must be a number from 0 on with at most 6 decimals');
  return usdcText(units);
}

/** Yields one merchant's live listings, newest first. Without a limit they come as one page. */
export function storePages(
  client: Client,
  handle: string,
  options: { limit?: number } = {},
): AsyncGenerator<Page<ListingSummary>> {
  return readPages<ListingSummary>({
    read: async (cursor) => {
      const { body } = await client.getStore({ params: { handle }, query: { ...options, before_id: cursor } });
      return { ...body, rows: body.listings.filter(isSummary), next: body.next_before_id };
    },
    idOf: (listing) => listing.id,
    ids: 'newest_first',
    appendOnly: false,
    limit: options.limit,
  });
}

/** Yields all merchants that existed at the first page, oldest first. */
export function merchantPages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<MerchantRecord>> {
  return readPages<MerchantRecord>({
    read: async (cursor) => {
      const { body } = await client.listMerchants({ query: { ...options, after_id: cursor } });
      return { ...body, rows: body.merchants, next: body.next_after_id };
    },
    idOf: (merchant) => merchant.id,
    ids: 'oldest_first',
    appendOnly: true,
    limit: options.limit,
  });
}

export type EventRecord = ResultOf<Endpoints['listEvents']>['body']['events'][number];

/** Accepts at most one of kind, scope and listing. */
export type EventFilters = { limit?: number } & (
  | { kind?: never; scope?: never; listing_id?: never }
  | { kind: EventKind }
  | { scope: Scope }
  | { listing_id: number }
);

/** Yields the public log, newest first. Unfiltered, IDs must fall by one without gaps, except where the market recovered from a loss. */
export function eventPages(client: Client, filters: EventFilters = {}): AsyncGenerator<Page<EventRecord>> {
  const filtered = 'kind' in filters || 'scope' in filters || 'listing_id' in filters;
  return readPages<EventRecord>({
    read: async (cursor) => {
      const { body } = await client.listEvents({ query: { ...filters, before_id: cursor } });
      return { ...body, rows: body.events, next: body.next_before_id };
    },
    idOf: (event) => event.id,
    resumedAt: ({ kind, detail }) => (kind === 'recovery' ? Number(detail['next_event_id']) : null),
    ids: filtered ? 'newest_first' : 'gapless',
    appendOnly: true,
    limit: filters.limit,
  });
}

export type PurchaseRecord = ResultOf<Endpoints['listPurchases']>['body']['purchases'][number];

/** Yields purchases of the client's merchant with the goods, newest first. */
export function purchasePages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<PurchaseRecord>> {
  return readPages<PurchaseRecord>({
    read: async (cursor) => {
      const { body } = await client.listPurchases({ query: { ...options, before_id: cursor } });
      return { ...body, rows: body.purchases, next: body.next_before_id };
    },
    idOf: (purchase) => purchase.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}

type Account = ResultOf<Endpoints['getMe']>['body'];
export type SaleRecord = Account['sales'][number];
export type OwnListing = Extract<Account['listings'][number], { store_url: string }>;

/** Query of `getMe` that keeps its lists as short as possible. */
export const SHORT_ACCOUNT = {
  listings_limit: '1',
  sales_limit: '1',
  purchases_limit: '1',
  replies_limit: '1',
} as const;

/** Yields listings of the client's merchant in every state, newest first. */
export function ownListingPages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<OwnListing>> {
  return readPages<OwnListing>({
    read: async (cursor) => {
      const query = { ...SHORT_ACCOUNT, listings_limit: options.limit, listings_before_id: cursor };
      const { body } = await client.getMe({ query });
      return {
        rows: body.listings.filter(isSummary),
        total: body.listings_total,
        returned: body.listings_returned,
        page_size: body.listings_page_size,
        has_more: body.listings_has_more,
        next: body.listings_next_before_id,
      };
    },
    idOf: (listing) => listing.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}

/** Yields sales of the client's merchant, newest first. */
export function salePages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<SaleRecord>> {
  return readPages<SaleRecord>({
    read: async (cursor) => {
      const query = { ...SHORT_ACCOUNT, sales_limit: options.limit, sales_before_id: cursor };
      const { body } = await client.getMe({ query });
      return {
        rows: body.sales,
        total: body.sales_total,
        returned: body.sales_returned,
        page_size: body.sales_page_size,
        has_more: body.sales_has_more,
        next: body.sales_next_before_id,
      };
    },
    idOf: (sale) => sale.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}

export type FeeRecord = ResultOf<Endpoints['getTreasury']>['body']['recent_fees'][number];

/** Yields listing fees received by the treasury, newest first. */
export function treasuryPages(client: Client, options: { limit?: number } = {}): AsyncGenerator<Page<FeeRecord>> {
  return readPages<FeeRecord>({
    read: async (cursor) => {
      const { body } = await client.getTreasury({ query: { ...options, before_id: cursor } });
      return {
        rows: body.recent_fees,
        total: body.fees_count,
        returned: body.fees_returned,
        page_size: body.fees_page_size,
        has_more: body.fees_has_more,
        next: body.fees_next_before_id,
      };
    },
    idOf: (fee) => fee.id,
    ids: 'newest_first',
    appendOnly: true,
    limit: options.limit,
  });
}

/** Whether a row is a whole public listing, which every row is without `fields=outline`. */
export function isSummary<Row extends object>(row: Row): row is Extract<Row, { store_url: string }> {
  return 'store_url' in row;
}
