import type { Endpoints } from '../../contract/index.ts';
import type { Queryable } from '../../platform/database/database.ts';
import { inSnapshot } from '../../platform/database/in-snapshot.ts';
import { presentReply } from '../catalog/comments/present-comment.ts';
import { presentDetail } from '../catalog/present-listing.ts';
import { readListingsOf } from '../catalog/store.ts';
import type { MarketOperation } from '../context.ts';
import { readOwnHistory } from '../purchases/lock-histories.ts';
import { presentPurchase, presentSale } from './present-purchase.ts';
import { type History, readHistory } from './read-history.ts';
import { readStanding } from './read-standing.ts';
import * as store from './store.ts';

export const getMe: MarketOperation<Endpoints['getMe']> = async (market, call) => {
  const { query, caller } = call;
  const pageOf = (limit: number, beforeId: bigint | undefined): store.HistoryPage => ({
    merchantId: caller.id,
    limit,
    beforeId: beforeId ?? null,
  });
  const said = await inSnapshot(market.database, async (snapshot) => {
    const listings = await readHistory(
      snapshot,
      pageOf(query.listings_limit, query.listings_before_id),
      { stand: store.standInListings, read: readOwnListings, cursorName: 'listings_before_id' },
      presentDetail,
    );
    const replies = await readHistory(
      snapshot,
      pageOf(query.replies_limit, query.replies_before_id),
      { stand: store.standInReplies, read: store.readReplies, cursorName: 'replies_before_id' },
      presentReply,
    );
    return { standing: await readStanding(market, snapshot, caller), listings, replies };
  });
  // Behind the rest, so that what a review has become is in one of the two at least.
  const traded = await readOwnHistory(market.database, caller.id, async (own) => {
    const sales = await readHistory(
      own,
      pageOf(query.sales_limit, query.sales_before_id),
      { stand: store.standInSales, read: store.readSales, cursorName: 'sales_before_id' },
      presentSale,
    );
    const purchases = await readHistory(
      own,
      pageOf(query.purchases_limit, query.purchases_before_id),
      { stand: store.standInPurchases, read: store.readPurchases, cursorName: 'purchases_before_id' },
      presentPurchase,
    );
    return { sales, purchases };
  });
  return {
    status: 200,
    body: {
      ...said.standing,
      ...section('listings', said.listings, query.listings_limit),
      ...section('sales', traded.sales, query.sales_limit),
      ...section('purchases', traded.purchases, query.purchases_limit),
      ...section('replies', said.replies, query.replies_limit),
    },
  };
};

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
