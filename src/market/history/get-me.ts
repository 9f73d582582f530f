import type { Endpoints } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import { readRemovalNotices } from '../appeals/read-removal-notices.ts';
import { presentDetail } from '../catalog/present-listing.ts';
import { readListingsOf } from '../catalog/store.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { countCredits } from '../fees/store.ts';
import { findWaitingSet } from '../identity/codes/store.ts';
import { inSnapshot } from '../in-snapshot.ts';
import { readQuota } from '../limits/read-quota.ts';
import { presentMerchant } from '../merchants/present-merchant.ts';
import { readMerchant } from '../merchants/store.ts';
import { presentPurchase, presentSale } from './present-purchase.ts';
import { presentReview } from './present-review.ts';
import { type History, readHistory } from './read-history.ts';
import * as store from './store.ts';

const DAY_SECONDS = 86_400;
/** Each ends within weeks; more than that at a time are shown as room is made. */
const MOST_REVIEWS = 200;

export const getMe: MarketOperation<Endpoints['getMe']> = async (market, call) => {
  const { query, caller } = call;
  // Nobody can comment yet, so no cursor of replies was ever given out.
  if (query.replies_before_id !== undefined)
    throw new Refusal('cursor_invalid', { detail: 'replies_before_id does not name a reply to you.' });
  const pageOf = (limit: number, beforeId: bigint | undefined): store.HistoryPage => ({
    merchantId: caller.id,
    limit,
    beforeId: beforeId ?? null,
  });
  return inSnapshot(market.database, async (snapshot) => {
    const listings = await readHistory(
      snapshot,
      pageOf(query.listings_limit, query.listings_before_id),
      { stand: store.standInListings, read: readOwnListings, cursorName: 'listings_before_id' },
      presentDetail,
    );
    const sales = await readHistory(
      snapshot,
      pageOf(query.sales_limit, query.sales_before_id),
      { stand: store.standInSales, read: store.readSales, cursorName: 'sales_before_id' },
      presentSale,
    );
    const purchases = await readHistory(
      snapshot,
      pageOf(query.purchases_limit, query.purchases_before_id),
      { stand: store.standInPurchases, read: store.readPurchases, cursorName: 'purchases_before_id' },
      presentPurchase,
    );
    const replies: History<never> = { items: [], total: 0, hasMore: false, nextBeforeId: null };
    return {
      status: 200,
      body: {
        ...(await readStanding(market, snapshot, caller)),
        ...section('listings', listings, query.listings_limit),
        ...section('sales', sales, query.sales_limit),
        ...section('purchases', purchases, query.purchases_limit),
        ...section('replies', replies, query.replies_limit),
      },
    };
  });
};

async function readStanding(market: Market, snapshot: Queryable, caller: Merchant) {
  const merchantId = caller.id;
  const merchant = await readMerchant(snapshot, merchantId);
  if (merchant === null) throw new Error(`merchant ${merchantId} has a key and no row`);
  const reviews = await store.readReviews(snapshot, caller, MOST_REVIEWS);
  const name = 'guard_runs_per_merchant_day';
  const guardRuns = await readQuota(snapshot, market.clock.now(), {
    name,
    subject: String(merchantId),
    limit: market.config.limits[name],
    windowSeconds: DAY_SECONDS,
  });
  return {
    merchant: presentMerchant(merchant),
    credits: Number(await countCredits(snapshot, merchantId)),
    reviews: reviews.map(presentReview),
    removal_notices: await readRemovalNotices(snapshot, merchantId),
    flags: [],
    quotas: { [name]: { limit: guardRuns.limit, used: guardRuns.used, resets_at: isoTime(guardRuns.resetsAt) } },
    pending_codes: await readPendingCodes(market, snapshot, merchantId),
  };
}

async function readPendingCodes({ clock }: Market, snapshot: Queryable, merchantId: bigint) {
  const waiting = await findWaitingSet(snapshot, merchantId, new Date(clock.now()));
  return waiting === null ? null : { valid_at: isoTime(waiting) };
}

const readOwnListings = (database: Queryable, page: store.HistoryPage) => readListingsOf(database, page);

type Section<Name extends string, Item> = { [K in Name]: Item[] } & {
  [K in `${Name}_${'total' | 'returned' | 'page_size'}`]: number;
} & { [K in `${Name}_has_more`]: boolean } & { [K in `${Name}_next_before_id`]: number | null };

function section<Name extends string, Item>(name: Name, history: History<Item>, size: number): Section<Name, Item> {
  return {
    [name]: history.items,
    [`${name}_total`]: history.total,
    [`${name}_returned`]: history.items.length,
    [`${name}_page_size`]: size,
    [`${name}_has_more`]: history.hasMore,
    [`${name}_next_before_id`]: history.nextBeforeId,
  } as Section<Name, Item>;
}
