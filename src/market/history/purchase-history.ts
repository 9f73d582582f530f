import type { z } from 'zod';
import type { saleOut } from '../../contract/merchants.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { NewerVersion, purchaseOut } from '../../contract/purchases.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { shownTitle } from '../catalog/present-listing.ts';
import { attributesOf } from '../catalog/store.ts';
import type { NewerRow } from '../purchases/store.ts';
import type { HistoryPage, PageStart, PurchaseRow, SaleRow } from './store.ts';

export interface History<Item> {
  items: Item[];
  total: number;
  hasMore: boolean;
  nextBeforeId: number | null;
}

interface HistorySource<Row> {
  readStart(database: Queryable, page: HistoryPage): Promise<PageStart>;
  read(database: Queryable, page: HistoryPage): Promise<Row[]>;
  /** The name of the cursor in the query, for the refusal. */
  cursorName: string;
}

/** One page of something that a merchant may walk, newest first. To be given an open snapshot, or the lock of this history. */
export async function readHistory<Row, Item extends { id: number }>(
  queryable: Queryable,
  page: HistoryPage,
  source: HistorySource<Row>,
  present: (row: Row) => Item,
): Promise<History<Item>> {
  const { total, cursorKnown } = await source.readStart(queryable, page);
  if (!cursorKnown)
    throw new Refusal('cursor_invalid', { detail: `${source.cursorName} does not name a row of this history.` });
  const rows = await source.read(queryable, { ...page, limit: page.limit + 1 });
  const items = rows.slice(0, page.limit).map(present);
  const hasMore = rows.length > items.length;
  return { items, total: Number(total), hasMore, nextBeforeId: hasMore ? (items.at(-1)?.id ?? null) : null };
}

export function presentPurchase(row: PurchaseRow): z.output<typeof purchaseOut> {
  return {
    id: Number(row.id),
    listing_id: Number(row.listing_id),
    title: shownTitle(row),
    seller: row.seller,
    price_usdc: usdcOfUnits(row.price_units),
    paid_usdc: usdcOfUnits(row.paid_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    verified_via: row.verified_via,
    block_number: row.block_number === null ? null : Number(row.block_number),
    created_at: isoTime(row.created_at),
    delivery_kind: row.verified_via === 'city' ? 'city_ownership' : 'artifact',
    ...attributesOf(row),
  };
}

export function presentSale(row: SaleRow): z.output<typeof saleOut> {
  return {
    id: Number(row.id),
    listing_id: Number(row.listing_id),
    title: shownTitle(row),
    buyer: row.buyer,
    paid_usdc: usdcOfUnits(row.paid_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    verified_via: row.verified_via,
    created_at: isoTime(row.created_at),
  };
}

export function presentNewerVersion(row: NewerRow): NewerVersion {
  return {
    listing_id: Number(row.id),
    title: shownTitle(row),
    price_usdc: usdcOfUnits(row.price_units),
    created_at: isoTime(row.created_at),
    changed: row.changed,
    entitled: row.entitled,
  };
}
