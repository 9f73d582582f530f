import type { z } from 'zod';
import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { saleOut } from '../../contract/merchants.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import type { NewerVersion, purchaseOut } from '../../contract/purchases.ts';
import type { Download } from '../../contract/uploads.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { presentReceipt, shownTitle } from '../catalog/present-listing.ts';
import { attributesOf } from '../catalog/store.ts';
import type { Market, MarketOperation } from '../context.ts';
import { describeDownload } from '../goods/downloads/describe-download.ts';
import { type NewerRow, readNewerVersions, readOwnHistory } from '../purchases/store.ts';
import {
  type BoughtRow,
  type HistoryPage,
  type OwnGoodsRow,
  type PageStart,
  type PurchaseRow,
  readBought,
  readPurchasesStart,
  type SaleRow,
} from './store.ts';

export interface History<Item> {
  items: Item[];
  total: number;
  hasMore: boolean;
  nextBeforeId: number | null;
}

interface HistorySource<Row> {
  readStart(database: Queryable, page: HistoryPage): Promise<PageStart>;
  read(database: Queryable, page: HistoryPage): Promise<Row[]>;
  /** Name of the cursor's query parameter, for the refusal. */
  cursorName: string;
}

/** Reads one page of a merchant's history, newest first. Pass an open snapshot, or a transaction that holds the lock of this history. */
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

function presentNewerVersion(row: NewerRow): NewerVersion {
  return {
    listing_id: Number(row.id),
    title: shownTitle(row),
    price_usdc: usdcOfUnits(row.price_units),
    created_at: isoTime(row.created_at),
    changed: row.changed,
    entitled: row.entitled,
  };
}

type BoughtOut = ResultOf<Endpoints['listPurchases']>['body']['purchases'][number];

export const listPurchases: MarketOperation<Endpoints['listPurchases']> = async (market, call) => {
  const page = { merchantId: call.caller.id, limit: call.query.limit, beforeId: call.query.before_id ?? null };
  const source = { readStart: readPurchasesStart, read: readBought, cursorName: 'before_id' };
  const history = await readOwnHistory(market.database, call.caller.id, async (own) =>
    withNewerVersions(own, page, await readHistory(own, page, source, (row: BoughtRow) => presentBought(market, row))),
  );
  return {
    status: 200,
    body: {
      purchases: history.items,
      total: history.total,
      returned: history.items.length,
      page_size: page.limit,
      has_more: history.hasMore,
      next_before_id: history.nextBeforeId,
    },
  };
};

/** Adds newer versions in a second query, which is cheap because a page is short. */
async function withNewerVersions(
  queryable: Queryable,
  { merchantId }: HistoryPage,
  history: History<BoughtOut>,
): Promise<History<BoughtOut>> {
  const boughtIds = history.items.map(({ listing_id }) => BigInt(listing_id));
  const newer = new Map((await readNewerVersions(queryable, merchantId, boughtIds)).map((row) => [row.bought_id, row]));
  const items = history.items.map((item) => {
    const row = newer.get(BigInt(item.listing_id));
    return row === undefined ? item : { ...item, newer_version: presentNewerVersion(row) };
  });
  return { ...history, items };
}

/** Describes the download of uploaded goods. Null for other goods, and for a thing from a city. */
export function presentDownload(
  { config }: Pick<Market, 'config'>,
  listingId: bigint,
  row: OwnGoodsRow,
): Download | null {
  const { upload_bytes: bytes, upload_sha256: sha256, artifact_media_type: mediaType } = row;
  if (bytes === null || sha256 === null || mediaType === null) return null;
  const facts = { listingId, bytes: Number(bytes), mediaType, filename: row.artifact_filename, sha256 };
  return describeDownload(config, facts);
}

/** Withholds goods and salt if only the payer may collect. A thing from a city has neither. */
function presentBought(market: Pick<Market, 'config'>, row: BoughtRow): BoughtOut {
  const withheld = row.payer_collects_only;
  const [content, salt] = withheld ? [null, null] : [row.content, row.salt];
  return {
    ...presentPurchase(row),
    artifact: content?.toString(row.artifact_encoding === 'base64' ? 'base64' : 'utf8') ?? null,
    download: withheld ? null : presentDownload(market, row.listing_id, row),
    artifact_encoding: row.artifact_encoding,
    artifact_media_type: row.artifact_media_type,
    artifact_filename: row.artifact_filename,
    artifact_salt: salt && toHex(salt),
    collect: withheld ? 'sign_to_collect' : 'delivered',
    world_receipt: row.receipt && presentReceipt(row.receipt),
    newer_version: null,
  };
}
