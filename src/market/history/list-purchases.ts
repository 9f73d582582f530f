import type { Endpoints } from '../../contract/index.ts';
import { toHex } from '../../platform/hex.ts';
import type { MarketOperation } from '../context.ts';
import { inSnapshot } from '../in-snapshot.ts';
import { presentPurchase } from './present-purchase.ts';
import { readHistory } from './read-history.ts';
import { type BoughtRow, readBought, standInPurchases } from './store.ts';

export const listPurchases: MarketOperation<Endpoints['listPurchases']> = async (market, call) => {
  const page = { merchantId: call.caller.id, limit: call.query.limit, beforeId: call.query.before_id ?? null };
  const source = { stand: standInPurchases, read: readBought, cursorName: 'before_id' };
  const history = await inSnapshot(market.database, (snapshot) => readHistory(snapshot, page, source, presentBought));
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

/** Where only the payer may collect, the key that opened the payment shows neither the goods nor the salt. */
function presentBought(row: BoughtRow) {
  const withheld = row.payer_collects_only;
  return {
    ...presentPurchase(row),
    artifact: withheld ? null : row.content.toString(row.artifact_encoding === 'base64' ? 'base64' : 'utf8'),
    artifact_encoding: row.artifact_encoding,
    artifact_media_type: row.artifact_media_type,
    artifact_filename: row.artifact_filename,
    artifact_salt: withheld ? null : toHex(row.salt),
    collect: withheld ? ('sign_to_collect' as const) : ('delivered' as const),
    world_receipt: null,
    newer_version: null,
  };
}
