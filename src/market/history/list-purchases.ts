import type { ResultOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { toHex } from '../../platform/hex.ts';
import { presentReceipt } from '../catalog/present-listing.ts';
import type { MarketOperation } from '../context.ts';
import { readNewerVersions, readOwnHistory } from '../purchases/store.ts';
import { type History, presentNewerVersion, presentPurchase, readHistory } from './purchase-history.ts';
import { type BoughtRow, type HistoryPage, readBought, readPurchasesStart } from './store.ts';

type BoughtOut = ResultOf<Endpoints['listPurchases']>['body']['purchases'][number];

export const listPurchases: MarketOperation<Endpoints['listPurchases']> = async (market, call) => {
  const page = { merchantId: call.caller.id, limit: call.query.limit, beforeId: call.query.before_id ?? null };
  const source = { readStart: readPurchasesStart, read: readBought, cursorName: 'before_id' };
  const history = await readOwnHistory(market.database, call.caller.id, async (own) =>
    withNewerVersions(own, page, await readHistory(own, page, source, presentBought)),
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

/** A page is so short that its newer versions are asked for when it is known. */
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

/** Where only the payer may collect, the key that opened the payment shows neither the goods nor the salt. A thing has neither. */
function presentBought(row: BoughtRow): BoughtOut {
  const withheld = row.payer_collects_only;
  const [content, salt] = withheld ? [null, null] : [row.content, row.salt];
  return {
    ...presentPurchase(row),
    artifact: content?.toString(row.artifact_encoding === 'base64' ? 'base64' : 'utf8') ?? null,
    artifact_encoding: row.artifact_encoding,
    artifact_media_type: row.artifact_media_type,
    artifact_filename: row.artifact_filename,
    artifact_salt: salt && toHex(salt),
    collect: withheld ? 'sign_to_collect' : 'delivered',
    world_receipt: row.receipt && presentReceipt(row.receipt),
    newer_version: null,
  };
}
