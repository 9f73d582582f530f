import type { Endpoints } from '../../contract/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import { presentSummary } from '../catalog/present-listing.ts';
import { isListingOf, readListingsOf } from '../catalog/store.ts';
import type { MarketOperation } from '../context.ts';
import { inSnapshot } from '../in-snapshot.ts';
import { presentMerchant } from './present-merchant.ts';
import { readMerchantByHandle } from './store.ts';

export const getStore: MarketOperation<Endpoints['getStore']> = (market, call) =>
  inSnapshot(market.database, async (snapshot) => {
    const merchant = await readMerchantByHandle(snapshot, call.params.handle);
    if (merchant === null) throw new Refusal('not_found', { detail: 'No merchant has that handle.' });
    const beforeId = call.query.before_id ?? null;
    if (beforeId !== null && !(await isListingOf(snapshot, merchant.id, beforeId)))
      throw new Refusal('cursor_invalid', { detail: 'before_id does not name a listing of this store.' });
    const limit = call.query.limit ?? null;
    const rows = await readListingsOf(snapshot, {
      merchantId: merchant.id,
      limit: limit === null ? null : limit + 1,
      beforeId,
    });
    const listings = rows.slice(0, limit ?? rows.length).map(presentSummary);
    const hasMore = rows.length > listings.length;
    return {
      status: 200,
      body: {
        merchant: presentMerchant(merchant),
        listings,
        total: Number(merchant.listings),
        returned: listings.length,
        page_size: limit ?? listings.length,
        has_more: hasMore,
        next_before_id: hasMore ? (listings.at(-1)?.id ?? null) : null,
      },
    };
  });
